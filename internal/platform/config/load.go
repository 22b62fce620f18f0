package config

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Source says what Load reads.
type Source struct {
	File     string   // path of the YAML file; empty if there is none
	Environ  []string // in the form of os.Environ
	Defaults Profile

	// Allow contains the names of PINGPOST_ variables that are not settings, such as PINGPOST_CONFIG.
	// All other unknown PINGPOST_ variables are errors.
	Allow []string

	// Need contains the sections, and the single settings of other sections, to read and validate. If it
	// is empty, all sections are read. Settings that are not needed keep their defaults, and their secret
	// files are not read. For example, `migrate` does not need the keys. Misspelt settings are errors in
	// every section.
	Need []Section
}

// Load reads and validates the configuration. Its error has type Problems. With the Dev
// profile, it ignores missing settings, because `dev` generates them afterwards.
func Load(src Source) (*Config, error) { return load(src, os.ReadFile) }

func load(src Source, read func(string) ([]byte, error)) (*Config, error) {
	cfg := Defaults(src.Defaults)
	cfg.needed = slices.Clone(src.Need)
	r := &reader{
		file:    src.File,
		parts:   cfg.parts(),
		given:   make(map[string]any),
		origins: make(map[string]string),
		read:    read,
	}
	readable := r.readFile(src.File)
	r.readEnviron(src.Environ, src.Allow)
	if !readable {
		// Stop here, because otherwise all settings in the file would be reported as missing.
		return nil, r.problems.asError()
	}

	for _, p := range cfg.parts() {
		for _, f := range p.fields() {
			if path := p.path(f); cfg.needsSetting(p, path) {
				r.assign(path, f)
			}
		}
	}
	cfg.secretFiles = r.secretFiles
	earlier := r.problems
	for _, p := range problemsOf(cfg.Validate()) {
		generated := p.missing && src.Defaults == Dev
		if generated || earlier.mentions(p.Path) {
			continue // report only the first problem of a key
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
		cfg.Keys.WriteWith = cfg.Wrapper() // so that `config show` prints the key wrapper that is used
	}
	if cfg.needs(SectionNode) {
		cfg.Node.useHostName() // so that `config show` prints the name that is used
	}
	return cfg, nil
}

// reader merges the file and the environment, and records the origin of each value.
type reader struct {
	file     string // path of the YAML file, or ""
	parts    []part
	given    map[string]any    // by path: a string, or a []string from a list in the file
	origins  map[string]string // by path, list items included
	read     func(string) ([]byte, error)
	problems Problems

	secretFiles map[string]string // as in Config
}

func (r *reader) report(path, origin, text string) {
	r.problems = append(r.problems, Problem{Path: path, Origin: origin, Text: text})
}

// originOf returns where the value of a setting comes from: a line in the file or an environment
// variable. For a list item without its own origin, it returns the origin of the list.
func (r *reader) originOf(path string) string {
	if o, ok := r.origins[path]; ok {
		return o
	}
	return r.origins[keyOf(path)]
}

func (r *reader) assign(path string, f field) {
	if r.problems.mentions(path) {
		return
	}
	given := r.given[path]
	if f.secret && r.given[path+fileSuffix] != nil {
		given = r.secretFile(path)
	} else if f.secret && strings.HasPrefix(r.origins[path], r.file+":") { // not from a variable
		r.inFile(path, r.file)
	}
	if given == nil {
		return
	}
	if err := f.set(given); err != nil {
		r.report(path, r.origins[path], err.Error())
	}
}

// secretFile returns the trimmed content of a secret's file, or nil if it reports a problem.
// Problems do not repeat the file's path, because a user may have put the secret itself into
// the variable for the path.
func (r *reader) secretFile(path string) any {
	origin := r.origins[path+fileSuffix]
	r.origins[path] = origin
	name, single := r.given[path+fileSuffix].(string)
	if !single {
		r.report(path, origin, "must be the name of one file")
		return nil
	}
	data, err := r.read(name)
	if err != nil {
		r.report(path, origin, "cannot read the file named here: "+reason(err))
		return nil
	}
	content := strings.TrimSpace(string(data))
	if content == "" {
		r.report(path, origin, "the file named here is empty")
		return nil
	}
	r.inFile(path, name)
	return content
}

// inFile records the file that contains a secret.
func (r *reader) inFile(path, name string) {
	if r.secretFiles == nil {
		r.secretFiles = make(map[string]string)
	}
	r.secretFiles[path] = name
}

// reason returns the operating system's error without the name of the file, because a user may have
// entered a secret instead of the name.
func reason(err error) string {
	if failure, ok := errors.AsType[*fs.PathError](err); ok {
		return failure.Err.Error()
	}
	return "the operating system reported an error"
}
