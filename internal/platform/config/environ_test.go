package config

import (
	"strings"
	"testing"
)

func TestUnknownVariables(t *testing.T) {
	for _, c := range []struct{ variable, want string }{
		{"PINGPOST_HTTP_API_ADR=:1", "PINGPOST_HTTP_API_ADR PINGPOST_HTTP_API_ADDR"},
		{"PINGPOST_API_ADDR=:1", "PINGPOST_API_ADDR PINGPOST_HTTP_API_ADDR"},
		{"PINGPOST_LOCAL_KEK=x", "PINGPOST_LOCAL_KEK PINGPOST_KEYS_LOCAL_KEK"},
		{"PINGPOST_PLATFORM_KEY=x", "PINGPOST_PLATFORM_KEY PINGPOST_PLATFORM_KEYS"},
		{"PINGPOST_DATABASE_URL_FILES=x", "PINGPOST_DATABASE_URL_FILES PINGPOST_DATABASE_URL_FILE"},
		{"PINGPOST_LOG_LEVEL_FILE=x", "PINGPOST_LOG_LEVEL_FILE"},
		{"PINGPOST_COLOUR=red", "PINGPOST_COLOUR"},
		{"PINGPOST_COLOUR=", "PINGPOST_COLOUR"},
		{"PINGPOST_=red", "PINGPOST_…"},
		{"PINGPOST_" + keyA + "=red", "PINGPOST_…"},
		{"PINGPOST_HTTP_PORT=8080", "PINGPOST_HTTP_PORT"},
		{"PINGPOST_PORT_AUTHORITY=x", "PINGPOST_PORT_AUTHORITY"},
		{"PINGPOST_PORT_8080_TCP_X=x", "PINGPOST_PORT_8080_TCP_X"},
	} {
		t.Run(c.variable, func(t *testing.T) {
			_, err := Load(Source{Environ: append(sufficient(), c.variable), Allow: []string{"PINGPOST_CONFIG"}})
			checkProblems(t, err, c.want)
		})
	}
}

func TestVariablesThatAreNotSettings(t *testing.T) {
	environ := append(sufficient(),
		"PINGPOST_CONFIG=/etc/pingpost.yaml",
		"pingpost_lower=x",
		"PINGPOSTER=x",
		"LEAD_VAULT_ADDR=x",
		// Services named pingpost and pingpost-admin.
		"PINGPOST_SERVICE_HOST=10.0.0.1",
		"PINGPOST_SERVICE_PORT=8080",
		"PINGPOST_SERVICE_PORT_API=8080",
		"PINGPOST_PORT=tcp://10.0.0.1:8080",
		"PINGPOST_PORT_8080_TCP=tcp://10.0.0.1:8080",
		"PINGPOST_PORT_8080_TCP_PROTO=tcp",
		"PINGPOST_PORT_8080_TCP_PORT=8080",
		"PINGPOST_PORT_8080_TCP_ADDR=10.0.0.1",
		"PINGPOST_ADMIN_SERVICE_HOST=10.0.0.2",
		"PINGPOST_ADMIN_PORT_53_UDP_ADDR=10.0.0.2",
	)
	if _, err := Load(Source{Environ: environ, Allow: []string{"PINGPOST_CONFIG"}}); err != nil {
		t.Error(err)
	}
}

func TestConflictingVariables(t *testing.T) {
	for _, c := range []struct{ variable, want string }{
		{"PINGPOST_DATABASE_URL_FILE=/x", "PINGPOST_DATABASE_URL_FILE: database.url PINGPOST_DATABASE_URL"},
		{"PINGPOST_KEYS_PLATFORM_KEYS=" + keyB, "PINGPOST_KEYS_PLATFORM_KEYS: keys.platform_keys PINGPOST_PLATFORM_KEYS"},
		{"PINGPOST_KEYS_LOCAL_KEK_FILE=/x", "PINGPOST_KEYS_LOCAL_KEK_FILE: keys.local_kek LEAD_VAULT_KEK"},
	} {
		_, err := Load(Source{Environ: append(sufficient(), c.variable)})
		checkProblems(t, err, c.want)
	}
	if _, err := Load(Source{Environ: append(sufficient(), "PINGPOST_DATABASE_URL_FILE=")}); err != nil {
		t.Errorf("an empty variable conflicts: %v", err)
	}
}

func TestEnvironmentProblemsNameTheVariable(t *testing.T) {
	environ := append(sufficient()[:6],
		"PINGPOST_PLATFORM_KEYS="+keyA+" "+keyA+","+keyB[1:],
		"PINGPOST_KEYS_LOCAL_KEK_FILE=/absent",
		"PINGPOST_DATABASE_MAX_CONNECTIONS=lots",
	)
	_, err := load(Source{Environ: environ}, files{}.read)
	checkProblems(t, err,
		"PINGPOST_DATABASE_MAX_CONNECTIONS: database.max_connections",
		"PINGPOST_KEYS_LOCAL_KEK_FILE: keys.local_kek",
		"PINGPOST_PLATFORM_KEYS: keys.platform_keys[1] keys.platform_keys[0]",
		"PINGPOST_PLATFORM_KEYS: keys.platform_keys[2]",
	)
}

func TestEveryKeyHasVariable(t *testing.T) {
	names := variables(Defaults(Serve).parts())
	for name, path := range map[string]string{
		"PINGPOST_DATABASE_URL":            "database.url",
		"PINGPOST_DATABASE_URL_FILE":       "database.url_file",
		"PINGPOST_PLATFORM_KEYS":           "keys.platform_keys",
		"PINGPOST_KEYS_PLATFORM_KEYS":      "keys.platform_keys",
		"LEAD_VAULT_KEK":                   "keys.local_kek",
		"LEAD_VAULT_KEK_FILE":              "keys.local_kek_file",
		"PINGPOST_RETENTION_PINGS_DAYS":    "retention.pings_days",
		"PINGPOST_HTTP_READ_TIMEOUT":       "http.read_timeout",
		"PINGPOST_SIGNING_DEFAULT_MODE":    "signing.default_mode",
		"PINGPOST_LIMITS_POST_CONCURRENCY": "limits.post_concurrency",
	} {
		if names[name] != path {
			t.Errorf("%s sets %q, want %q", name, names[name], path)
		}
	}
	for name, path := range names {
		if strings.HasSuffix(path, fileSuffix) != strings.HasSuffix(name, "_FILE") {
			t.Errorf("%s sets %s", name, path)
		}
	}
}
