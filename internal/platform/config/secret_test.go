package config

import (
	"bytes"
	stdjson "encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v4"
)

func TestSecretIsRedacted(t *testing.T) {
	s := Secret("hunter2")
	for _, verb := range strings.Fields("%v %+v %#v %s %q %x %X %d %t %c %U %10s %-10v %.2s %!") {
		if got := fmt.Sprintf(verb, s); !strings.Contains(got, redacted) && verb != "%!" || strings.Contains(got, "hunter2") {
			t.Errorf("%s printed %s", verb, got)
		}
	}
	if got := fmt.Sprint(&s, []Secret{s}, struct{ S Secret }{s}); strings.Contains(got, "hunter2") {
		t.Errorf("inside other values: %s", got)
	}
	if s.Reveal() != "hunter2" || s.String() != redacted {
		t.Errorf("Reveal %q, String %q", s.Reveal(), s.String())
	}
	if got := fmt.Sprintf("%v%s%q", Secret(""), Secret(""), Secret("")); got != "" {
		t.Errorf("an empty secret prints %q", got)
	}
}

// TestPrintedConfigurationContainsNoSecrets sets every secret to a canary, prints the configuration
// in every way, and searches the output for the canaries.
func TestPrintedConfigurationContainsNoSecrets(t *testing.T) {
	canaries := []string{"canary-pw", keyA, keyB, keyC, strings.Repeat("A", 8), "65 65 65", "41414141", "QUFBQUFB"}
	cfg := mustLoad(t, "", append(sufficient()[:5],
		"PINGPOST_DATABASE_URL=postgres://app:canary-pw@db.example.com/pingpost",
		"PINGPOST_PLATFORM_KEYS="+keyA+","+keyB,
		"LEAD_VAULT_KEK="+keyC,
	)...)

	prints := map[string]string{
		"Redacted": cfg.Redacted(),
		"Warnings": cfg.Warnings().Error(),
		"xml":      marshalled(xml.Marshal(cfg.Keys)),
		"json":     marshalled(stdjson.Marshal(cfg)),
		"json v2":  marshalled(json.Marshal(cfg)),
		"yaml":     marshalled(yaml.Marshal(cfg)),
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		prints[verb] = fmt.Sprintf(verb, *cfg)
		prints[verb+" pointer"] = fmt.Sprintf(verb, cfg)
		prints[verb+" keys"] = fmt.Sprintf(verb, cfg.Keys)
		prints[verb+" url"] = fmt.Sprintf(verb, cfg.Database.URL)
	}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(handler).Info("starting", "config", cfg, "value", *cfg, "keys", cfg.Keys, "url", cfg.Database.URL,
			slog.Group("g", "kek", cfg.Keys.Local))
	}
	prints["slog"] = log.String()

	for how, print := range prints {
		if print == "" {
			t.Errorf("%s printed nothing", how)
		}
		for _, canary := range canaries {
			if strings.Contains(print, canary) {
				t.Errorf("%s printed %s:\n%s", how, canary, print)
			}
		}
	}
}

func marshalled(b []byte, err error) string {
	return strings.TrimSpace(string(b) + fmt.Sprint(errors.Join(err)))
}

// TestErrorsContainNoSecrets uses a canary for each value and each key.
func TestErrorsContainNoSecrets(t *testing.T) {
	const canary = "postgres://app:canary-pw@host/db"
	for _, p := range Defaults(Serve).parts() {
		for _, f := range p.fields() {
			path := p.path(f)
			names := []string{longVariable(path)}
			if f.secret {
				names = append(names, longVariable(path)+"_FILE")
			}
			for _, name := range names {
				_, err := Load(Source{Environ: []string{name + "=" + canary}})
				if err == nil || strings.Contains(err.Error(), "canary") {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, shape := range []string{"%q", "[%q]", "[[%q]]", "{%q: 1}", "{a: %q}", "!%[1]q", "&a %q", "*%s",
				"%q: x", "|\n    %s", "[%s"} {
				text := string(p.name) + ":\n  " + f.name + ": " + fmt.Sprintf(shape, canary) + "\n"
				if _, err := loadText(text); err == nil || strings.Contains(err.Error(), "canary") {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}
