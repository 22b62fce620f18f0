package docs

import (
	"slices"
	"strings"
)

// fieldRow is one row in a table of fields or headers. Required is "required", "optional" or a
// condition.
type fieldRow struct {
	Name, Type, Required string

	Rules        []span
	Alternatives []string
}

// shape is one of the forms that a response can take. Title is "" if there is only one.
type shape struct {
	Title  string
	Fields []fieldRow
}

// ID returns the title in lower case and with hyphens, for use in the id of an HTML heading.
func (s shape) ID() string { return idOf(s.Title) }

func shapes(schema node) []shape {
	if !schema.has("oneOf") {
		return []shape{{Fields: fieldRows("", schema)}}
	}
	var list []shape
	for form := range schema.get("oneOf").items() {
		list = append(list, shape{Title: form.text("title"), Fields: fieldRows("", form)})
	}
	return list
}

// fieldRows returns a row for each field of an object, including nested fields, such as
// contact.email and industries[].slug. A field that is an alternative to another field is listed in
// that field's row instead of having its own.
func fieldRows(prefix string, schema node) []fieldRow {
	var rows []fieldRow
	for name, property := range schema.get("properties").entries() {
		switch {
		case property.has("x-alternative-to"):
		case property.has("properties"):
			rows = append(rows, fieldRows(prefix+name+".", property)...)
		case property.get("items").has("properties"):
			rows = append(rows, fieldRows(prefix+name+"[].", property.get("items"))...)
		default:
			rows = append(rows, newFieldRow(prefix, name, schema, property))
		}
	}
	return rows
}

func newFieldRow(prefix, name string, object, property node) fieldRow {
	row := fieldRow{Name: prefix + name, Type: typeOf(property), Required: "optional", Rules: rules(property)}
	condition := property.text("x-required")
	switch {
	case condition == "yes" || condition == "" && slices.Contains(texts(object.get("required")), name):
		row.Required = "required"
	case condition != "":
		row.Required = condition
	}
	row.Alternatives = texts(property.get("x-alternatives"))
	return row
}

func headerRow(name string, header node) fieldRow {
	row := fieldRow{Name: name, Rules: rules(header)}
	if example := header.text("example"); example != "" {
		row.Rules = append(row.Rules, span{Text: " Example: "}, span{Text: example, Code: true})
	}
	return row
}

func texts(list node) []string {
	var all []string
	for item := range list.items() {
		all = append(all, item.at.Value)
	}
	return all
}

// typeOf returns a field's JSON types, without null. The page explains in one place what null means,
// because the meaning is the same for all fields.
func typeOf(schema node) string {
	var types []string
	add := func(s node) {
		if t := s.get("type"); len(texts(t)) > 0 {
			types = append(types, texts(t)...)
		} else if t.at != nil {
			types = append(types, t.at.Value)
		}
	}
	add(schema)
	for option := range schema.get("anyOf").items() {
		add(option)
	}
	slices.Sort(types)
	types = slices.DeleteFunc(slices.Compact(types), func(t string) bool { return t == "null" })
	return strings.Join(types, " or ")
}

// maxListed is the largest number of values that a table cell lists. There are more industries than
// that, so the page lists them in a section of their own.
const maxListed = 10

// rules returns a field's description, followed by its values, its maximum length or number of keys, and
// its default. All other rules are part of the description.
func rules(schema node) []span {
	text := oneLine(schema.text("description"))
	for _, list := range []struct{ key, intro string }{{"enum", "One of"}, {"x-extensible-enum", "Currently one of"}} {
		if values := texts(schema.get(list.key)); len(values) > 1 && len(values) <= maxListed &&
			!strings.Contains(text, "`"+values[0]+"`") {
			text += " " + list.intro + " `" + strings.Join(values, "`, `") + "`."
		}
	}
	if value := schema.text("const"); value != "" && !strings.Contains(text, "`"+value+"`") {
		text += " Always `" + value + "`."
	}
	if limit := schema.text("maxLength"); limit != "" {
		text += " At most " + grouped(limit) + " characters."
	}
	if limit := schema.text("maxProperties"); limit != "" {
		text += " At most " + limit + " keys."
	}
	if value := schema.text("default"); value != "" {
		text += " Default `" + value + "`."
	}
	return spans(strings.TrimSpace(text))
}

// grouped adds a thousands separator to a whole number of up to six digits.
func grouped(digits string) string {
	if len(digits) > 3 {
		return digits[:len(digits)-3] + "," + digits[len(digits)-3:]
	}
	return digits
}
