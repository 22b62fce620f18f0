// Package config holds the settings of a node: one YAML file, over which the
// environment wins.
//
// Each section has a file with its struct, its defaults and its Validate. Load
// and Validate report everything wrong at once, each problem with its key and,
// where the file gave the value, its line. docs/configuration.md explains every
// key; a test keeps the two in step.
package config

import (
	"slices"
	"strings"
)

// Profile chooses the defaults.
type Profile int

const (
	// Serve is production: what has no safe default has none and is required.
	Serve Profile = iota
	// Dev listens on loopback. Whoever starts it fills in what it generates (the
	// database, keys, the public URL) after Load and then calls Validate.
	Dev
)

// Section names a part of the configuration.
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
	SectionLog       Section = "log"
)

// Config is every setting of a node. All fields are exported down to the
// secrets: see Secret.
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
	Log       Log

	needed []Section // empty for all
}

// Defaults is the configuration of a profile before anything is read.
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
		Log:       defaultLog(p),
	}
}

// part is a section as Load, Validate and Redacted see it.
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
		{SectionLog, &c.Log},
	}
}

func (p part) path(f field) string { return string(p.name) + "." + f.name }

// neededParts leaves out what Source.Need did not ask for.
func (c *Config) neededParts() []part {
	return slices.DeleteFunc(c.parts(), func(p part) bool { return !c.needs(p.name) })
}

func (c *Config) needs(name Section) bool {
	return len(c.needed) == 0 || slices.Contains(c.needed, name)
}

// Validate reports everything wrong in the needed sections as Problems.
func (c *Config) Validate() error {
	var ps Problems
	for _, p := range c.neededParts() {
		ps = append(ps, problemsOf(p.Validate())...)
	}
	if c.needs(SectionKeys) && c.needs(SectionVault) {
		c.validateWriter(&ps)
	}
	return ps.asError()
}

// validateWriter wants it said which key wrapper writes where there are two, and
// that the one that is named is there.
func (c *Config) validateWriter(ps *Problems) {
	const path = "keys.write_with"
	vault := c.Vault.Address != ""
	switch {
	case c.Keys.WriteWith == WrapperVault && !vault:
		*ps = append(*ps, Problem{
			Path:    path,
			Text:    "vault: not configured; set vault.address or " + variable("vault.address"),
			because: "vault.address",
		})
	case c.Keys.WriteWith == "" && c.Keys.Local != "" && vault:
		ps.add(path, "must be local or vault: both are configured, and one of them writes")
	}
}

// Wrapper is what wraps new data keys: the one named, else the one configured,
// else none (""). With none, posts get 503 (decision 21).
func (c *Config) Wrapper() Wrapper {
	switch {
	case c.Keys.WriteWith != "":
		return c.Keys.WriteWith
	case c.Keys.Local != "":
		return WrapperLocal
	case c.Vault.Address != "":
		return WrapperVault
	}
	return ""
}

// Redacted is the needed sections as YAML, every secret shown as "[redacted]"
// and times with their unit.
func (c *Config) Redacted() string {
	var b strings.Builder
	for _, p := range c.neededParts() {
		b.WriteString(string(p.name) + ":\n")
		for _, f := range p.fields() {
			b.WriteString("  " + f.name + ": " + f.show() + "\n")
		}
	}
	return b.String()
}
