// Package config reads the settings of a node from a YAML file and the environment,
// which takes precedence.
//
// Each section has a Go file with its struct, defaults and Validate method. Load and
// Validate report all problems at once, each with its key and, if the value is in the
// YAML file, its line. docs/reference/configuration.md is generated from the fields
// and their comments.
package config

import (
	"maps"
	"slices"
	"strings"
)

// Profile selects the default settings.
type Profile int

const (
	// Serve is the profile for production. Settings without a safe default are required.
	Serve Profile = iota
	// Dev is the profile of `pingpost dev`, whose listeners use only the loopback interface. After Load,
	// the caller sets the generated values (the database, keys and origins) and calls Validate.
	Dev
)

// Section is the name of a section of the configuration. In Source.Need, it can also be the path of a
// single setting.
type Section string

const (
	SectionHTTP      Section = "http"
	SectionDatabase  Section = "database"
	SectionKeys      Section = "keys"
	SectionVault     Section = "vault"
	SectionSigning   Section = "signing"
	SectionLimits    Section = "limits"
	SectionRetention Section = "retention"
	SectionConsole   Section = "console"
	SectionPricing   Section = "pricing"
	SectionPayouts   Section = "payouts"
	SectionPrivacy   Section = "privacy"
	SectionLog       Section = "log"
	SectionTracing   Section = "tracing"
	SectionNode      Section = "node"

	// SettingPublicURL is the only setting of the section http that commands need.
	SettingPublicURL Section = "http.public_url"
)

// Config contains all settings of a node. All settings must be exported fields, because fmt would print
// secrets in unexported fields.
type Config struct {
	HTTP      HTTP
	Database  Database
	Keys      Keys
	Vault     Vault
	Signing   Signing
	Limits    Limits
	Retention Retention
	Console   Console
	Pricing   Pricing
	Payouts   Payouts
	Privacy   Privacy
	Log       Log
	Tracing   Tracing
	Node      Node

	needed      []Section         // if empty, all sections are needed
	secretFiles map[string]string // maps the path of each secret that is in a file to the name of the file
}

// Defaults returns the default configuration of a profile.
func Defaults(p Profile) *Config {
	return &Config{
		HTTP:      defaultHTTP(p),
		Database:  defaultDatabase(p),
		Vault:     defaultVault(),
		Signing:   defaultSigning(),
		Limits:    defaultLimits(p),
		Retention: defaultRetention(),
		Console:   defaultConsole(p),
		Pricing:   defaultPricing(),
		Payouts:   defaultPayouts(),
		Privacy:   defaultPrivacy(),
		Log:       defaultLog(p),
		Tracing:   defaultTracing(),
	}
}

type part struct {
	name Section
	values
}

type values interface {
	fields() []field
	Validate() error
}

func (c *Config) parts() []part {
	return []part{
		{SectionHTTP, &c.HTTP},
		{SectionDatabase, &c.Database},
		{SectionKeys, &c.Keys},
		{SectionVault, &c.Vault},
		{SectionSigning, &c.Signing},
		{SectionLimits, &c.Limits},
		{SectionRetention, &c.Retention},
		{SectionConsole, &c.Console},
		{SectionPricing, &c.Pricing},
		{SectionPayouts, &c.Payouts},
		{SectionPrivacy, &c.Privacy},
		{SectionLog, &c.Log},
		{SectionTracing, &c.Tracing},
		{SectionNode, &c.Node},
	}
}

func (p part) path(f field) string { return string(p.name) + "." + f.name }

// needs reports whether a section is listed in Source.Need, or the list is empty.
func (c *Config) needs(name Section) bool {
	return len(c.needed) == 0 || slices.Contains(c.needed, name)
}

// needsSetting reports whether a setting or its section p is needed.
func (c *Config) needsSetting(p part, path string) bool {
	return c.needs(p.name) || c.needs(Section(path))
}

// Validate checks the settings that are needed according to Source.Need, or all settings if the list is
// empty. Its error has the type Problems and contains all problems.
func (c *Config) Validate() error {
	var ps Problems
	for _, p := range c.parts() {
		for _, problem := range problemsOf(p.Validate()) {
			if c.needsSetting(p, keyOf(problem.Path)) {
				ps = append(ps, problem)
			}
		}
	}
	if c.needs(SectionKeys) && c.needs(SectionVault) {
		c.validateWriter(&ps)
	}
	if c.needs(SectionRetention) && c.needs(SectionPrivacy) && c.Retention.erases() && c.Privacy.ErasureJournal == "" {
		ps = append(ps, Problem{
			Path: "privacy.erasure_journal", Text: "required, because the section retention limits how long contact records are stored", missing: true,
		})
	}
	if path := c.Vault.readingLogin(); path != "" && c.needs(SectionHTTP) && c.needs(SectionVault) && c.HTTP.AdminAddr == "" {
		ps.add(path, "a node without the console must not be able to decrypt: remove this setting, or set http.admin_addr")
	}
	return ps.asError()
}

// validateWriter checks the setting keys.write_with. The setting is required if both key wrappers are
// configured, and must not be vault if Vault is not configured.
func (c *Config) validateWriter(ps *Problems) {
	const path = "keys.write_with"
	vault := c.Vault.Address != ""
	switch {
	case c.Keys.WriteWith == WrapperVault && !vault:
		*ps = append(*ps, Problem{
			Path:    path,
			Text:    "vault is not configured; set vault.address or " + variable("vault.address"),
			because: "vault.address",
		})
	case c.Keys.WriteWith == "" && len(c.Keys.Local) > 0 && vault:
		ps.add(path, "must be local or vault, because both are configured")
	}
}

// Wrapper returns the key wrapper for new leads. If keys.write_with is set, this is the key wrapper that
// it names. Otherwise it is the only one that is configured. If none is configured, Wrapper returns "",
// and posts get a response with status 503 (decision 21).
func (c *Config) Wrapper() Wrapper {
	switch {
	case c.Keys.WriteWith != "":
		return c.Keys.WriteWith
	case len(c.Keys.Local) > 0:
		return WrapperLocal
	case c.Vault.Address != "":
		return WrapperVault
	}
	return ""
}

// SecretFiles returns the names of the files that contain secrets.
func (c *Config) SecretFiles() []string {
	return slices.Sorted(maps.Values(c.secretFiles))
}

// ChangedSettings returns the paths of the settings that have different values in two configurations and that a running
// node does not replace.
func ChangedSettings(a, b *Config) (paths []string) {
	others := b.parts()
	for i, p := range a.parts() {
		for j, f := range p.fields() {
			if !f.secret && !f.reread && f.show() != others[i].fields()[j].show() {
				paths = append(paths, p.path(f))
			}
		}
	}
	return paths
}

// Redacted returns the configuration as YAML, with secrets shown as "[redacted]" and durations with a
// unit. It omits the settings that the process does not need.
func (c *Config) Redacted() string {
	var b strings.Builder
	for _, p := range c.parts() {
		heading := string(p.name) + ":\n"
		for _, f := range p.fields() {
			if c.needsSetting(p, p.path(f)) {
				b.WriteString(heading + "  " + f.name + ": " + f.show() + "\n")
				heading = ""
			}
		}
	}
	return b.String()
}
