package docs

import (
	"regexp"
	"strings"
)

// Descriptions in the document use a small part of Markdown: paragraphs, lists, "## "
// headings, `code` and [links](#section) to sections. The page supports nothing else.

// block is a paragraph, or a list when Items is set.
type block struct {
	Text    []span
	Items   [][]span
	Ordered bool
}

// span is a run of text, which can be code or a link. Link is "" or the target of the link.
type span struct {
	Text string
	Code bool
	Link string
}

func guide(text string) (intro []block, sections []guideSection) {
	parts := strings.Split("\n"+text, "\n## ")
	for _, part := range parts[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		sections = append(sections, guideSection{ID: idOf(title), Title: title, Blocks: blocks(rest)})
	}
	return blocks(parts[0]), sections
}

func idOf(title string) string { return strings.ReplaceAll(strings.ToLower(title), " ", "-") }

// blocks splits a text into paragraphs and lists. A blank line ends a paragraph or a list. A list can
// also directly follow a paragraph. The lines of a paragraph or a list item are joined.
func blocks(text string) []block {
	var all []block
	fresh := true
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		item, ordered, isItem := listItem(line)
		switch last := len(all) - 1; {
		case line == "":
			fresh = true
			continue
		case isItem && (fresh || all[last].Items == nil):
			all = append(all, block{Items: [][]span{spans(item)}, Ordered: ordered})
		case isItem:
			all[last].Items = append(all[last].Items, spans(item))
		case fresh:
			all = append(all, block{Text: spans(line)})
		case all[last].Items != nil:
			i := len(all[last].Items) - 1
			all[last].Items[i] = append(all[last].Items[i], spans(" "+line)...)
		default:
			all[last].Text = append(all[last].Text, spans(" "+line)...)
		}
		fresh = false
	}
	return all
}

func listItem(line string) (text string, ordered, ok bool) {
	if text, ok = strings.CutPrefix(line, "- "); ok {
		return text, false, true
	}
	number, text, ok := strings.Cut(line, ". ")
	if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
		return "", false, false
	}
	return text, true, true
}

// marked matches `code` and [a link](#section).
var marked = regexp.MustCompile("`([^`]*)`" + `|\[([^\]` + "`" + `]+)\]\((#[a-z0-9-]+)\)`)

func spans(text string) []span {
	var all []span
	end := 0
	plain := func(until int) {
		if until > end {
			all = append(all, span{Text: text[end:until]})
		}
	}
	for _, m := range marked.FindAllStringSubmatchIndex(text, -1) {
		plain(m[0])
		if end = m[1]; m[4] >= 0 {
			all = append(all, span{Text: text[m[4]:m[5]], Link: text[m[6]:m[7]]})
		} else {
			all = append(all, span{Text: text[m[2]:m[3]], Code: true})
		}
	}
	plain(len(text))
	return all
}

// oneLine joins the lines of a description's first paragraph for a table cell. The rest,
// such as a list, is shown elsewhere on the page.
func oneLine(text string) string {
	first, _, _ := strings.Cut(text, "\n\n")
	return strings.Join(strings.Fields(first), " ")
}
