package config

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Source says where Load reads from. It reads nothing else.
type Source struct {
	File     string   // path of the YAML file; empty for none
	Environ  []string // as from os.Environ
	Defaults Profile

	// Allow names PINGPOST_ variables that are not settings, such as
	// PINGPOST_CONFIG. Any other unknown one is an error.
	Allow []string

	// Need names the sections to read and validate; empty for all. The others
	// keep their defaults, and their secret files are left unread, so that
	// `migrate` runs without the keys. Misspelt keys are errors everywhere.
	Need []Section
}

// Load reads the configuration. Its error is Problems. With the Dev profile it
// does not report as missing what Dev generates afterwards.
func Load(src Source) (*Config, error) { return load(src, os.ReadFile) }

func load(src Source, read func(string) ([]byte, error)) (*Config, error) {
	cfg := Defaults(src.Defaults)
	cfg.needed = slices.Clone(src.Need)
	r := &reader{
		parts:   cfg.parts(),
		given:   make(map[string]any),
		origins: make(map[string]string),
		read:    read,
	}
	readable := r.readFile(src.File)
	r.readEnviron(src.Environ, src.Allow)
	if !readable {
		// Going on would call everything missing that the file may well hold.
		return nil, r.problems.asError()
	}

	for _, p := range cfg.neededParts() {
		for _, f := range p.fields() {
			r.assign(p.path(f), f)
		}
	}
	earlier := r.problems
	for _, p := range problemsOf(cfg.Validate()) {
		generated := p.missing && src.Defaults == Dev
		if generated || earlier.mentions(p.Path) {
			continue // the first problem of a key is the one to mend
		}
		if p.because != "" && earlier.mentions(p.because) {
			continue
		}
		p.Origin = r.originOf(p.Path)
		r.problems = append(r.problems, p)
	}
	if err := r.problems.asError(); err != nil {
		return nil, err
	}
	if cfg.needs(SectionKeys) && cfg.needs(SectionVault) {
		cfg.Keys.WriteWith = cfg.Wrapper() // what is used is what `config show` tells
	}
	return cfg, nil
}

// reader lays the environment over the file and remembers where each value came from.
type reader struct {
	parts    []part
	given    map[string]any    // by path: a string, or a []string from a list in the file
	origins  map[string]string // by path, list items included
	read     func(string) ([]byte, error)
	problems Problems
}

func (r *reader) report(path, origin, text string) {
	r.problems = append(r.problems, Problem{Path: path, Origin: origin, Text: text})
}

// originOf falls back from a list's item to the list.
func (r *reader) originOf(path string) string {
	if o, ok := r.origins[path]; ok {
		return o
	}
	return r.origins[keyOf(path)]
}

// assign sets a field to what the layers gave, if they gave anything usable.
func (r *reader) assign(path string, f field) {
	if r.problems.mentions(path) {
		return
	}
	given := r.given[path]
	if f.secret && r.given[path+fileSuffix] != nil {
		given = r.secretFile(path)
	}
	if given == nil {
		return
	}
	if err := f.set(given); err != nil {
		r.report(path, r.origins[path], err.Error())
	}
}

// secretFile is the trimmed content of the file that a …_file key names; nil
// after a problem. The file's name is not repeated: it may be the secret itself,
// given to the wrong variable.
func (r *reader) secretFile(path string) any {
	origin := r.origins[path+fileSuffix]
	r.origins[path] = origin
	name, single := r.given[path+fileSuffix].(string)
	if !single {
		r.report(path, origin, "needs the name of one file")
		return nil
	}
	data, err := r.read(name)
	if err != nil {
		r.report(path, origin, "the file that is named here cannot be read: "+reason(err))
		return nil
	}
	content := strings.TrimSpace(string(data))
	if content == "" {
		r.report(path, origin, "the file that is named here is empty")
		return nil
	}
	return content
}

// reason is the operating system's word for a failure, without the file's name.
func reason(err error) string {
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return failure.Err.Error()
	}
	return "the operating system refused"
}
