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
	SectionSigning   Section = "signing"
	SectionLimits    Section = "limits"
	SectionRetention Section = "retention"
	SectionLog       Section = "log"
)

// Config is every setting of a node. All fields are exported down to the
// secrets: see Secret.
type Config struct {
	HTTP      HTTP
	Database  Database
	Keys      Keys
	Signing   Signing
	Limits    Limits
	Retention Retention
	Log       Log

	needed []Section // empty for all
}

// Defaults is the configuration of a profile before anything is read.
func Defaults(p Profile) *Config {
	return &Config{
		HTTP:      defaultHTTP(p),
		Database:  defaultDatabase(),
		Signing:   defaultSigning(),
		Limits:    defaultLimits(p),
		Retention: defaultRetention(),
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
		{SectionSigning, &c.Signing},
		{SectionLimits, &c.Limits},
		{SectionRetention, &c.Retention},
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
	return ps.asError()
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
