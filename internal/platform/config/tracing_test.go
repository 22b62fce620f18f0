package config

import "testing"

func TestTracing(t *testing.T) {
	for setting, path := range map[string]string{
		"endpoint: 127.0.0.1:4318":                "tracing.endpoint",
		"endpoint: 'https://user:word@host'":      "tracing.endpoint",
		"endpoint: 'ftp://host'":                  "tracing.endpoint",
		"header: Bearer word":                     "tracing.header",
		"header: 'Authorization:'":                "tracing.header",
		"header: \"Authorization: a\\nB: c\"":     "tracing.header",
		"sample_ratio: 1.1":                       "tracing.sample_ratio",
		"sample_ratio: -0.1":                      "tracing.sample_ratio",
		"sample_ratio: NaN":                       "tracing.sample_ratio",
		"sample_ratio: all":                       "tracing.sample_ratio",
		"endpoint: 'https://host:4318/otlp'":      "",
		"header: 'X-Key: word'":                   "",
		"header: 'Authorization:  Bearer word  '": "",
	} {
		cfg, err := loadText("tracing: {"+setting+"}", sufficient()...)
		problems := problemsOf(err)
		switch {
		case path == "" && (err != nil || cfg.Tracing.SampleRatio != 0.01):
			t.Errorf("%s: %v", setting, err)
		case path != "" && (len(problems) != 1 || problems[0].Path != path):
			t.Errorf("%s: got %v, want a problem of %s", setting, err, path)
		}
	}
	header := Tracing{Header: "Authorization:  Bearer word"}
	if name, value := header.HeaderField(); name != "Authorization" || value != "Bearer word" {
		t.Errorf("got the header %q with the value %q", name, value)
	}
}
