package config

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/internal/base/suggest"
	"github.com/pingpost/pingpost/internal/base/yamldoc"
)

// readFile reads the YAML file and reports whether it could be parsed. It walks the YAML nodes, which
// have line numbers, instead of decoding the file. A decoder would repeat values, which may be secret,
// in its errors.
func (r *reader) readFile(name string) bool {
	if name == "" {
		return true
	}
	data, err := r.read(name)
	if err != nil {
		r.report("", name, "cannot be read: "+reason(err))
		return false
	}
	root, err := yamldoc.Parse(data)
	if wrong, ok := errors.AsType[*yamldoc.Error](err); ok {
		r.report("", fmt.Sprintf("%s:%d", name, wrong.Line), "is not valid YAML: "+wrong.Message)
		return false
	}
	f := &file{name: name, reader: r}
	f.readRoot(root)
	return true
}

type file struct {
	name   string
	reader *reader
}

func (f *file) origin(n *yaml.Node) string { return fmt.Sprintf("%s:%d", f.name, n.Line) }

func (f *file) readRoot(root *yaml.Node) {
	if root == nil || isNull(root) {
		return
	}
	if root.Kind != yaml.MappingNode {
		f.reader.report("", f.origin(root), "must consist of sections, such as `http:`, with their keys below them")
		return
	}
	for key, content := range f.pairs("", root) {
		i := slices.IndexFunc(f.reader.parts, func(p part) bool { return string(p.name) == key.Value })
		switch {
		case i < 0:
			f.unknown("", key)
		case isNull(content):
		case content.Kind != yaml.MappingNode:
			f.reader.report(key.Value, f.origin(content), "must have keys below it")
		default:
			f.readSection(f.reader.parts[i], content)
		}
	}
}

func (f *file) readSection(p part, section *yaml.Node) {
	firstForm := make(map[string]string) // maps each path to the key that set it
	for key, content := range f.pairs(string(p.name), section) {
		i := slices.IndexFunc(p.fields(), func(c field) bool {
			return key.Value == c.name || c.secret && key.Value == c.name+fileSuffix
		})
		if i < 0 {
			f.unknown(p.name, key)
			continue
		}
		path, given := p.path(p.fields()[i]), string(p.name)+"."+key.Value
		if isNull(content) {
			// A `key:` without a value counts as not set.
			f.reader.origins[given] = f.origin(key)
			continue
		}
		if other := firstForm[path]; other != "" {
			f.reader.report(path, f.origin(key), fmt.Sprintf("%s conflicts with %s; remove one of them", key.Value, other))
			continue
		}
		firstForm[path] = key.Value
		f.reader.origins[given] = f.origin(key)
		if p.fields()[i].keyed && content.Kind == yaml.MappingNode {
			f.readMap(path, content)
			continue
		}
		f.readValue(given, path, content)
	}
}

// readMap reads a map as a list of items such as GB=365.
func (f *file) readMap(path string, content *yaml.Node) {
	items := make([]string, 0)
	for key, value := range f.pairs(path, content) {
		if value.Kind != yaml.ScalarNode {
			f.reader.report(path, f.origin(value), "each key must have a single value")
		}
		f.reader.origins[keyedPath(path, key.Value)] = f.origin(key)
		items = append(items, key.Value+"="+strings.TrimSpace(value.Value))
	}
	f.reader.given[path] = items
}

// readValue reads the value of a setting as text, because the type depends on the setting and not on
// YAML's rules. The parameter given is the key in the YAML file, which may end in _file. The parameter
// path is the path of the setting, for messages.
func (f *file) readValue(given, path string, content *yaml.Node) {
	switch content.Kind {
	case yaml.ScalarNode:
		f.reader.given[given] = content.Value
	case yaml.SequenceNode:
		items := make([]string, len(content.Content))
		for i, item := range content.Content {
			itemAt := itemPath(path, i)
			f.reader.origins[itemAt] = f.origin(item)
			if item.Kind != yaml.ScalarNode {
				f.reader.report(itemAt, f.origin(item), "must be a single value")
			}
			items[i] = strings.TrimSpace(item.Value)
		}
		f.reader.given[given] = items
	case yaml.AliasNode:
		f.reader.report(path, f.origin(content), "aliases are not supported; repeat the value")
	default:
		f.reader.report(path, f.origin(content), "must be a value, without keys below it")
	}
}

// pairs yields the keys of a YAML mapping with their values. It reports invalid keys and duplicate keys
// as problems.
func (f *file) pairs(section string, mapping *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return yamldoc.Entries(mapping, func(key *yaml.Node, first int) {
		if key.Kind != yaml.ScalarNode {
			f.reader.report(section, f.origin(key), "a key must be a single word")
		} else {
			f.reader.report(pathOf(section, key), f.origin(key),
				fmt.Sprintf("duplicate key, first on line %d; remove one of them", first))
		}
	})
}

// unknown reports an unknown key in a section. If section is "", it reports an unknown section.
func (f *file) unknown(section Section, key *yaml.Node) {
	var siblings, elsewhere []string
	for _, p := range f.reader.parts {
		if section == "" {
			siblings = append(siblings, string(p.name))
		}
		for _, c := range p.fields() {
			if p.name == section {
				siblings = append(siblings, c.name)
			}
			if c.name == key.Value {
				elsewhere = append(elsewhere, p.path(c))
			}
		}
	}
	near := suggest.Closest(key.Value, siblings)
	if near == "" && len(elsewhere) > 0 {
		near = elsewhere[0]
	}
	what := "unknown key"
	if section == "" {
		what = "unknown section"
	}
	f.reader.report(pathOf(string(section), key), f.origin(key), what+suggest.DidYouMean(near))
}

// pathOf returns the path of a key, for messages. If a user may have entered a secret instead of a key,
// pathOf returns the path of the section.
func pathOf(section string, key *yaml.Node) string {
	switch {
	case !plainName(key.Value):
		return section
	case section == "":
		return key.Value
	}
	return section + "." + key.Value
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
