"use strict";
(() => {
  const nav = document.querySelector("nav");

  // Copy buttons
  const status = document.createElement("p");
  status.className = "status";
  status.setAttribute("role", "status");
  document.body.append(status);

  const copy = async (code) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      return "Copied";
    } catch {
      // Without HTTPS or permission, select the text for the user to copy.
      getSelection().selectAllChildren(code);
      return "Selected";
    }
  };

  for (const code of document.querySelectorAll("pre > code, .worked code, .addresses code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    let reset;
    button.addEventListener("click", async () => {
      status.textContent = "";
      const result = await copy(code);
      button.textContent = status.textContent = result;
      clearTimeout(reset);
      reset = setTimeout(() => {
        button.textContent = "Copy";
        status.textContent = "";
      }, 2000);
    });
    const pre = code.closest("pre");
    if (pre) pre.before(button);
    else code.after(button);
  }

  // Contents
  nav.addEventListener("click", (event) => {
    if (event.target.closest("a")) nav.querySelector("details").open = false;
  });

  // Links to sections and code samples. Other headings can be beside each other.
  const targetOf = (link) => document.getElementById(link.hash.slice(1));
  const links = [...nav.querySelectorAll("a")].filter((link) => targetOf(link).matches("section, details *"));
  const sections = links.map((link) => targetOf(link).closest("details") ?? targetOf(link));
  let current;
  const mark = () => {
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 1;
    const reached = sections.findLastIndex((section) => section.getBoundingClientRect().top < innerHeight / 5);
    const link = links.at(atEnd ? -1 : Math.max(reached, 0));
    if (link === current) return;
    current?.removeAttribute("aria-current");
    current = link;
    link.setAttribute("aria-current", "true");
    const top = link.offsetTop - nav.scrollTop;
    if (top < 0 || top + link.offsetHeight > nav.clientHeight) nav.scrollTop += top - nav.clientHeight / 2;
  };
  let pending = false;
  addEventListener("scroll", () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      mark();
    });
  }, { passive: true });
  mark();
})();
