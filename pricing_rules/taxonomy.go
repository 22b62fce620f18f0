package pricingrules

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/internal/base/suggest"
)

// Industry is one of the industries that the specification defines.
type Industry struct {
	Slug     string
	TermID   int    // the taxonomyTermId
	Category string // the category's slug
}

// Category is a group of industries. Rules refer to it by Slug, and the console displays Name.
type Category struct {
	Slug string
	Name string
}

// MaxTermID is the largest taxonomyTermId. It is the largest number that fits in two bytes.
const MaxTermID = 65535

// Taxonomy contains all industries in the order of the file. An industry's index is its position in this
// order. Do not store indexes, because they can change between releases.
type Taxonomy struct {
	industries []Industry
	categories []Category
	categoryOf []int // for each industry, the index of its category
	bySlug     map[string]int
	byTermID   map[int]int
	byCategory map[string]int
}

// BySlug returns the index of the industry with the given slug. Case matters.
func (t *Taxonomy) BySlug(slug string) (index int, ok bool) {
	index, ok = t.bySlug[slug]
	return index, ok
}

// ByTermID returns the index of the industry with the given taxonomyTermId.
func (t *Taxonomy) ByTermID(id int) (index int, ok bool) {
	index, ok = t.byTermID[id]
	return index, ok
}

// Suggest returns the slug of the industry that a user probably meant by an unknown name, or "".
func (t *Taxonomy) Suggest(name string) string {
	slugs := make([]string, len(t.industries))
	for i, industry := range t.industries {
		slugs[i] = industry.Slug
	}
	return suggest.Closest(spelledAsSlug(name), slugs)
}

// SuggestCategory is like Suggest, for categories.
func (t *Taxonomy) SuggestCategory(name string) string {
	slugs := make([]string, len(t.categories))
	for i, category := range t.categories {
		slugs[i] = category.Slug
	}
	return suggest.Closest(spelledAsSlug(name), slugs)
}

func spelledAsSlug(name string) string {
	return strings.NewReplacer(" ", "-", "_", "-").Replace(strings.TrimSpace(name))
}

func (t *Taxonomy) unknownIndustry(slug string) string {
	return quoted(slug) + " is not in the taxonomy" + suggest.DidYouMean(t.Suggest(slug))
}

func (t *Taxonomy) unknownCategory(slug string) string {
	return quoted(slug) + " is not in the taxonomy" + suggest.DidYouMean(t.SuggestCategory(slug))
}

// At returns the industry with the given index, which must be below Len.
func (t *Taxonomy) At(index int) Industry { return t.industries[index] }

// Len returns the number of industries.
func (t *Taxonomy) Len() int { return len(t.industries) }

// Industries returns all industries in the order of the file.
func (t *Taxonomy) Industries() []Industry { return slices.Clone(t.industries) }

// Categories returns all categories in the order of the file.
func (t *Taxonomy) Categories() []Category { return slices.Clone(t.categories) }

// ParseTaxonomy parses the contents of taxonomy.yaml. The error has type Problems. The parameter
// file is the name of the file in error messages.
func ParseTaxonomy(file string, data []byte) (*Taxonomy, error) {
	r := &reader{file: file}
	t := &Taxonomy{bySlug: map[string]int{}, byTermID: map[int]int{}, byCategory: map[string]int{}}
	if root := r.root(data); root != nil {
		top := r.fields(root, "the taxonomy", "categories")
		if e, ok := top["categories"]; ok {
			for _, node := range r.list(e.value, "categories") {
				t.readCategory(r, node)
			}
		}
		if len(r.problems) == 0 && len(t.industries) == 0 {
			r.fail(root.Line, "the industries are missing; list them by category under the key categories")
		}
	}
	if err := r.problems.err(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Taxonomy) readCategory(r *reader, node *yaml.Node) {
	keys := []string{"slug", "name", "industries"}
	fields := r.fields(node, "a category", keys...)
	if node.Kind != yaml.MappingNode {
		return
	}
	for _, key := range keys {
		if _, ok := fields[key]; !ok {
			r.fail(node.Line, "the category has no %s", key)
		}
	}
	if len(fields) < len(keys) {
		return
	}
	category := Category{
		Slug: r.text(fields["slug"].value, "the slug of a category"),
		Name: r.text(fields["name"].value, "the name of a category"),
	}
	if _, taken := t.byCategory[category.Slug]; taken {
		r.fail(fields["slug"].line, "category %s occurs twice", quoted(category.Slug))
	}
	r.slug(fields["slug"].line, category.Slug)
	t.byCategory[category.Slug] = len(t.categories)
	t.categories = append(t.categories, category)
	for e := range r.entries(fields["industries"].value, "the industries of a category") {
		t.readIndustry(r, e)
	}
}

func (t *Taxonomy) readIndustry(r *reader, e entry) {
	id, err := strconv.Atoi(e.key)
	if err != nil || id < 1 || id > MaxTermID || strconv.Itoa(id) != e.key {
		r.fail(e.line, "taxonomyTermId %s is not a whole number from 1 to %d without leading zeros", quoted(e.key), MaxTermID)
	}
	industry := Industry{
		Slug:     r.text(e.value, "the slug of an industry"),
		TermID:   id,
		Category: t.categories[len(t.categories)-1].Slug,
	}
	if first, taken := t.byTermID[id]; taken {
		r.fail(e.line, "taxonomyTermId %d is already used by %s; use another number", id, t.industries[first].Slug)
	}
	if _, taken := t.bySlug[industry.Slug]; taken {
		r.fail(e.line, "industry %s occurs twice", quoted(industry.Slug))
	}
	r.slug(e.value.Line, industry.Slug)
	t.bySlug[industry.Slug] = len(t.industries)
	t.byTermID[id] = len(t.industries)
	t.industries = append(t.industries, industry)
	t.categoryOf = append(t.categoryOf, len(t.categories)-1)
}

// slug reports a problem if a slug is not well formed. It skips an empty slug, because reader.text
// has already reported it.
func (r *reader) slug(line int, slug string) {
	if slug != "" && !isSlug(slug) {
		r.fail(line, "%s is not a slug; use lower-case letters, digits and single hyphens, starting with a letter",
			quoted(slug))
	}
}

func isSlug(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (c != '-' || s[i-1] == '-') {
			return false
		}
	}
	return true
}
