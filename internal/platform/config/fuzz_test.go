package config

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzLoad loads arbitrary text as a configuration file. CANARY in the text is replaced with a
// secret. The environment and all secret files contain secrets too.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", complete, "{}", "---\n...\n", "- 1", "http: &a\n  api_addr: *a\n", "log: {<<: {level: info}}",
		"database:\n  url: CANARY\n  url_file: CANARY\n",
		"database: {url_file: /x}\nkeys: {platform_keys_file: CANARY, local_kek: [CANARY]}",
		"keys:\n  platform_keys: [CANARY, CANARY]\n  write_with: CANARY\n  CANARY: 1\nCANARY: {}\n",
		"log:\n  level: CANARY\n  access: CANARY\nlimits:\n  post_wait: CANARY\n  post_concurrency: CANARY\n",
		"http:\n  api_addr: CANARY\n  public_url: CANARY\n  trusted_proxies: [CANARY, {CANARY: 1}]\n",
		"signing: *CANARY\n", "signing: !CANARY x\n", "%CANARY\n", "a: 'CANARY", "? [CANARY]\n: CANARY\n", "log: |\n  CANARY\n# CANARY\n",
	} {
		f.Add(seed)
	}
	const canary = "postgres://app:c4nary+/pw@localhost/db"
	f.Fuzz(func(t *testing.T, text string) {
		disk := func(name string) ([]byte, error) {
			if name == "pingpost.yaml" {
				return []byte(strings.ReplaceAll(text, "CANARY", canary)), nil
			}
			return []byte(canary), nil
		}
		for _, environ := range [][]string{nil, append(sufficient(), "PINGPOST_DATABASE_URL="+canary)} {
			cfg, err := load(Source{File: "pingpost.yaml", Environ: environ, Defaults: Dev}, disk)
			if (cfg == nil) == (err == nil) {
				t.Fatalf("want either a configuration or an error, got the error %v", err)
			}
			if err != nil {
				if len(problemsOf(err)) == 0 || strings.Contains(err.Error(), "c4nary") {
					t.Fatalf("the error contains a secret or is not Problems: %v", err)
				}
				continue
			}
			prints := fmt.Sprintf("%+v %#v", *cfg, *cfg) + cfg.Redacted() + cfg.Warnings().Error()
			if strings.Contains(prints, "c4nary") || strings.Contains(prints, keyA) {
				t.Fatalf("the printed configuration contains a secret: %s", prints)
			}
		}
	})
}
