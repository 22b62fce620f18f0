package main

import (
	"bytes"
	_ "embed"
	"strings"
	"text/template"
	"time"

	"github.com/pingpost/pingpost/bench/load"
)

//go:embed document.md.tmpl
var documentText string

// document renders docs/benchmarks.md.
func (b *bench) document(m machine) ([]byte, error) {
	cell := func(s string) string {
		if s == "" {
			return "–"
		}
		return strings.ReplaceAll(s, "|", `\|`)
	}
	parsed, err := template.New("benchmarks.md").Funcs(template.FuncMap{
		"cell":    cell,
		"of":      b.report.of,
		"cost":    b.report.costsOf,
		"percent": func(of float64) string { return number(100*of) + " %" },
	}).Parse(documentText)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, struct {
		Machine     machine
		Plan        plan
		Rows        rowSizes
		Connections int

		SlowTransaction time.Duration
	}{m, b.plan, b.report.rows, load.Connections, slowTransaction})
	return out.Bytes(), err
}

// shown contains the values of a figure as text, for docs/benchmarks.md.
type shown struct {
	What, Spread, Target, Verdict, Floor string
	Judged                               bool
}

func (r *report) of(part string) (list []shown) {
	for _, f := range r.figures {
		if f.part == part {
			list = append(list, shown{f.what, f.spread(), f.target(), f.verdict(), f.beneath(), f.limit != 0})
		}
	}
	return list
}
