// Progressive enhancements of the console. All pages also work without scripts, with plain links
// and forms.
"use strict";
(() => {
  const page = document.documentElement;
  page.dataset.js = "";

  const byId = (id) => document.getElementById(id);
  const say = (text) => {
    const voice = byId("announce");
    if (!voice) return;
    voice.textContent = "";
    // Screen readers announce only changes, so the text is cleared first in case it is the same.
    requestAnimationFrame(() => { voice.textContent = text; });
  };

  // This page must not reload itself while the browser opens another one. After clicking a download
  // link, the user stays on this page, so the navigation is considered over after 30 seconds.
  let left = -Infinity;
  addEventListener("beforeunload", () => { left = performance.now(); });
  addEventListener("pageshow", () => { left = -Infinity; });
  const leaving = () => performance.now() - left < 30_000;

  const typing = (target) =>
    target instanceof Element && target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]") !== null;

  // Native dialogs close with Esc and restore the focus.
  const open = (id) => {
    const dialog = byId(id);
    if (!dialog || typeof dialog.showModal !== "function") return false;
    if (!dialog.open) dialog.showModal();
    return true;
  };

  const copy = async (button) => {
    const place = button.closest(".id") ?? button;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      // Copying is not allowed (plain HTTP, or denied), so select the text instead.
      const code = button.parentElement.querySelector("code, pre");
      if (code) getSelection().selectAllChildren(code);
      const next = code ? "Press Ctrl C to copy the selected text." : "Select the text and copy it.";
      const message = "Copying is blocked by the browser. " + next;
      if (!place.nextElementSibling?.matches("[data-blocked]")) {
        const note = document.createElement("span");
        note.className = "hint";
        note.dataset.blocked = "";
        note.textContent = message;
        place.after(note);
      }
      say(message);
      return;
    }
    if (place.nextElementSibling?.matches("[data-blocked]")) place.nextElementSibling.remove();
    button.dataset.copied = "";
    say("Copied");
    setTimeout(() => { delete button.dataset.copied; }, 2000);
  };

  document.addEventListener("click", (event) => {
    const at = (selector) => event.target.closest(selector);
    const plain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    const copies = at("[data-copy]");
    if (copies) copy(copies);
    const opens = at("[data-dialog]");
    if (opens && plain && open(opens.dataset.dialog)) event.preventDefault();
    const closes = at("[data-close]");
    if (closes && closes.closest("dialog")) {
      event.preventDefault();
      closes.closest("dialog").close();
    }
    // A click outside a dialog or an open menu closes it.
    if (event.target instanceof HTMLDialogElement && event.detail > 0) {
      const box = event.target.getBoundingClientRect();
      const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
      if (!inside) event.target.close();
    }
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const menu = document.querySelector("details.menu[open]");
      if (menu) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
      return;
    }
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      if (open("jump-dialog")) event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "/") {
      const field = document.querySelector("[data-search]") || byId("jump");
      if (!field) return;
      event.preventDefault();
      field.focus();
      field.select();
    } else if (event.key === "?") {
      if (open("keys-dialog")) event.preventDefault();
    }
  });

  // The price grid works like a spreadsheet: leaving a cell saves it, and the response replaces
  // the rows that changed.
  const cells = () => [...document.querySelectorAll("[data-grid] input[name=base]")];
  const isCell = (target) => target instanceof Element && target.matches("[data-grid] input[name=base]");
  const stored = (cell) => cell.dataset.stored ?? cell.defaultValue;
  let saving = Promise.resolve(); // saves run one at a time, because each needs the version that the previous one returned
  let patching = false;

  const go = (cell, by) => {
    const all = cells();
    const next = all[all.indexOf(cell) + by];
    next?.focus();
    next?.select();
    return next;
  };

  // Replaces a row, but keeps the focus and anything typed since the request was sent.
  const patchRow = (fresh, saved, sent) => {
    const row = byId(fresh.id);
    if (!row) return;
    const was = row.querySelector("input[name=base]"), is = fresh.querySelector("input[name=base]");
    const focused = was === document.activeElement;
    const [from, to] = [was.selectionStart, was.selectionEnd];
    const mine = was.value !== stored(was) && !(was.id === saved && was.value === sent);
    if (mine && was.matches("[aria-invalid]")) return; // the error still has to be fixed
    row.replaceWith(fresh);
    if (mine) {
      is.dataset.stored = stored(is);
      is.value = was.value;
    }
    if (focused) {
      is.focus();
      is.setSelectionRange(from, to);
    }
  };

  const patch = (part, saved, sent) => {
    patching = true;
    for (const row of part.querySelectorAll("tr[id]")) patchRow(row, saved, sent);
    for (const one of part.querySelectorAll("div[id], span[id]")) {
      const keep = one.id === "grid-errors" && !one.children.length && document.querySelector("[data-grid] [aria-invalid]");
      if (!keep) byId(one.id)?.replaceWith(one);
    }
    patching = false;
    // If the version is not the next one, another user has made a change. The forms then keep the
    // old version, so that the user cannot change many rows at once without seeing that change.
    const fields = [...document.querySelectorAll("#list input[name=version]")];
    const known = Number(fields[0]?.value), now = Number(part.dataset.version);
    if (now > known + 1) byId("others").hidden = false;
    else for (const field of fields) field.value = now;
  };

  const send = async (id, sent) => {
    const cell = byId(id);
    if (!cell) return;
    const data = new URLSearchParams(new FormData(cell.form));
    data.set("base", sent);
    data.set("part", "rows");
    const row = cell.closest("tr");
    row.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(cell.form.action, { method: "POST", body: data, keepalive: true });
      const part = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("grid-part");
      if (part) {
        byId("save-error").hidden = true;
        patch(part, id, sent);
      } else if (answer.status < 500) {
        if (!leaving()) location.reload(); // signed out, or the draft was deleted; the page says which
      } else {
        byId("save-error").hidden = false;
      }
    } catch {
      byId("save-error").hidden = false;
    } finally {
      row.removeAttribute("aria-busy");
    }
  };

  const waiting = new Map();
  const save = (cell) => {
    const { id, value } = cell;
    if (patching || value.trim() === stored(cell) || waiting.get(id) === value) return;
    waiting.set(id, value);
    saving = saving.then(() => send(id, value)).then(() => { if (waiting.get(id) === value) waiting.delete(id); });
  };

  document.addEventListener("change", (event) => { if (isCell(event.target)) save(event.target); });
  document.addEventListener("submit", (event) => {
    const cell = event.target.elements.base;
    if (!cell || !isCell(cell)) return;
    event.preventDefault();
    save(cell);
  });
  document.addEventListener("keydown", (event) => {
    const cell = event.target;
    if (!isCell(cell) || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Enter") {
      save(cell);
      go(cell, event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      cell.value = stored(cell);
      cell.select();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      go(cell, event.key === "ArrowDown" ? 1 : -1);
    } else {
      return;
    }
    event.preventDefault();
  });
  document.addEventListener("paste", (event) => {
    if (!isCell(event.target)) return;
    const lines = event.clipboardData.getData("text/plain").replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n");
    if (lines.length < 2) return;
    event.preventDefault();
    const all = cells(), first = all.indexOf(event.target), form = byId("paste");
    form.elements.lines.value = lines.map((line, i) => `${all[first + i]?.closest("tr").id.replace("row-", "") ?? ""}\t${line}`).join("\n");
    saving.then(() => form.requestSubmit());
  });

  // Submits each form only once. Submitting a form twice could create two secrets and show only the
  // second. When the user returns to the page, the form can be submitted again. The page of a form that
  // downloads a file stays open, so such a form can be submitted again at any time.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post" || form.dataset.download !== undefined) return;
    if (form.dataset.sent !== undefined) event.preventDefault();
    form.dataset.sent = "";
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  // A slug follows the name that it is derived from, until the user changes it. partners.SlugOf does the same.
  const slugOf = (name) => name.normalize("NFKD").toLowerCase().replace(/\p{M}/gu, "").replace(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "").slice(0, 63).replace(/-$/, "");
  document.addEventListener("input", (event) => {
    delete event.target.dataset.slugOf;
    const slug = document.querySelector(`[data-slug-of="${event.target.id}"]`);
    if (slug) slug.value = slugOf(event.target.value);
  });

  // Adds the selected options as a line to a text field: with the button, or when the form is submitted.
  const addLine = (picker) => {
    const choices = [...picker.querySelectorAll("select")], field = byId(picker.dataset.addsTo);
    const line = choices.map((choice) => choice.value).filter(Boolean).join(", ");
    if (!line) return picker.dataset.nothing;
    for (const choice of choices) choice.value = "";
    const lines = field.value.split("\n").map((text) => text.trim()).filter(Boolean);
    if (lines.includes(line)) return `Already in the list: ${line}`;
    field.value = [...lines, line].join("\n");
    return `Added: ${line}`;
  };
  document.addEventListener("click", (event) => {
    const picker = event.target.closest("[data-adds]")?.closest("[data-adds-to]");
    if (picker) picker.querySelector("[role=status]").textContent = addLine(picker);
  });
  document.addEventListener("submit", (event) => event.target.querySelectorAll("[data-adds-to]").forEach(addLine));

  // Reports a file that is too large before uploading it. If the server aborts an upload, the
  // browser does not show the response.
  document.addEventListener("change", (event) => {
    const field = event.target, most = Number(field.dataset.most);
    if (most) field.setCustomValidity(field.files[0]?.size > most ? field.dataset.tooLarge : "");
  });

  // A revealed field disappears after its time. It also disappears when the user leaves the page, so that
  // the browser's history does not contain it.
  const revealed = document.querySelector("[data-revealed]");
  if (revealed) {
    const hide = () => revealed.replaceChildren();
    addEventListener("pagehide", hide);
    setTimeout(() => {
      hide();
      location.replace(revealed.dataset.hideTo);
    }, 1000 * Number(revealed.dataset.hideAfter));
  }

  // If a form has errors, focus the error summary.
  const attend = () => byId("error-summary")?.focus();
  attend();

  // Browsers announce suggestions themselves, and a field without suggestions still works.
  const suggests = (event) => event.detail.target?.matches?.("datalist");

  document.addEventListener("htmx:beforeRequest", (event) => event.detail.target?.setAttribute("aria-busy", "true"));
  document.addEventListener("htmx:afterRequest", (event) => event.detail.target?.removeAttribute("aria-busy"));
  document.addEventListener("htmx:afterSettle", (event) => {
    if (suggests(event)) return;
    attend();
    const count = event.detail.target?.querySelector?.("[data-count]") || document.querySelector("[data-count]");
    if (count) say(count.textContent.trim());
  });
  // Fragments that reload themselves announce changes. A fragment is not replaced while it contains
  // the focus, selected text or a button that is being pressed.
  const news = () => new Map([...document.querySelectorAll("[data-news]")].map((part) => [part.id, part.dataset.news]));
  let heard = news();
  document.addEventListener("htmx:afterSettle", () => {
    const now = news();
    const fresh = [...now].filter(([part, text]) => text && heard.has(part) && heard.get(part) !== text);
    if (fresh.length) say(fresh.map(([, text]) => text).join(". "));
    heard = now;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const part = event.detail.target;
    const selected = getSelection();
    if (part.matches?.("[data-news]") && (part.matches(":active") || part.contains(document.activeElement) || (!selected.isCollapsed && part.contains(selected.anchorNode)))) {
      event.detail.shouldSwap = false;
    }
  });
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (leaving() && event.detail.xhr.getResponseHeader("HX-Refresh")) event.preventDefault();
  });
  // If a request was redirected, for example to the sign-in page, navigate to that page.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const came = new URL(event.detail.xhr.responseURL, location.href);
    const asked = new URL(event.detail.pathInfo.requestPath, location.href);
    if (came.pathname === asked.pathname) return;
    event.detail.shouldSwap = false;
    if (!leaving()) location.assign(came);
  });
  const failed = (event) => {
    if (suggests(event)) return;
    const notice = byId("load-error");
    if (notice) notice.hidden = false;
  };
  document.addEventListener("htmx:sendError", failed);
  document.addEventListener("htmx:responseError", failed);
  document.addEventListener("htmx:afterSwap", (event) => {
    if (suggests(event)) return;
    const notice = byId("load-error");
    if (notice) notice.hidden = true;
  });
})();
