package config

import (
	"reflect"
	"testing"
)

const complete = `http:
  api_addr: ":8080"
  admin_addr: ":8081"
  ops_addr: "127.0.0.1:8082"
  profile_addr: ""
  public_url: "https://leads.example.com"
  admin_url: "https://console.example.com"
  support_contact: ""
  trusted_proxies: ["10.0.0.0/8", "192.0.2.7/32"]
  tls_cert_file: ""
  tls_key_file: ""
  read_header_timeout: 5s
  read_timeout: 10s
  write_timeout: 25s
  idle_timeout: 1m15s
  drain_delay: 3s
  shutdown_grace: 2m
database:
  url: "[redacted]"
  max_connections: 20
  connect_timeout: 5s
  statement_timeout: 1h
  lead_partitions: "month"
  snapshot_file: "/var/lib/pingpost/snapshot"
keys:
  platform_keys: ["[redacted]", "[redacted]"]
  local_kek: ["[redacted]"]
  write_with: "local"
vault:
  address: ""
  namespace: ""
  ca_file: ""
  mount: "transit"
  key: "pingpost-leads"
  auth: "approle"
  auth_mount: ""
  role_id: ""
  secret_id: ""
  role: ""
  jwt_file: "/var/run/secrets/kubernetes.io/serviceaccount/token"
  token: ""
  read_role_id: ""
  read_secret_id: ""
  read_role: ""
  read_token: ""
  timeout: 2s
signing:
  default_mode: "required"
limits:
  match_concurrency: 2
  match_wait: 50ms
  match_failures_per_minute: 30
  signature_failures_per_minute: 600
  pings_per_address: 5000
  shared_pings_per_address: 200
  posts_per_partner: 500
  unsigned_posts_per_address: 50
  post_concurrency: 256
  post_wait: 2s
  ping_log_mib_per_day: 4096
retention:
  contact_days: 0
  contact_days_by_country: {}
  consent_days: 0
  consent_days_by_country: {}
  sandbox_days: 7
  exports_days: 7
  pings_days: 90
  request_log_days: 7
  request_log_rows: 10000
  traffic_days: 400
  requests_days: 365
console:
  second_factor_roles: ["administrator", "account_manager", "pricing_manager", "finance", "privacy", "auditor"]
  session_idle: 30m
  session_lifetime: 12h
pricing:
  require_approval: false
payouts:
  return_days: 30
  approval_limits: {"AUD": 500, "CAD": 500, "EUR": 500, "GBP": 500, "USD": 500}
privacy:
  reveals_per_day: 50
  lookups_per_day: 200
  erasure_journal: ""
  erasure_journal_fingerprint: ""
  journal_endpoint: ""
  journal_region: "us-east-1"
  journal_access_key: ""
  journal_secret_key: ""
  require_approval: false
  law: "gdpr"
  letters: ""
  controller: ""
  purposes: "To pass your enquiry on to companies that offer what you asked for, and to pay the company that sent it to us."
  recipients: "Companies that offer what you asked for."
log:
  level: "info"
  format: "json"
  access: true
tracing:
  endpoint: ""
  header: ""
  sample_ratio: 0.01
node:
  name: "node-1"
`

func TestRedacted(t *testing.T) {
	cfg := mustLoad(t, "http: {shutdown_grace: 120s, trusted_proxies: [10.0.0.0/8, 192.0.2.7/32]}\ndatabase: {statement_timeout: 60m}\nnode: {name: node-1}",
		append(sufficient(), "PINGPOST_PLATFORM_KEYS="+keyA+","+keyB)...)
	if got := cfg.Redacted(); got != complete {
		t.Errorf("got:\n%s\nwant:\n%s", got, complete)
	}
}

// The output of `config show` can be used as a configuration file with the same values, except for
// secrets.
func TestRedactedReadsBack(t *testing.T) {
	cfg := mustLoad(t, complete, "PINGPOST_DATABASE_URL="+databaseURL, "PINGPOST_PLATFORM_KEYS="+keyA+","+keyB,
		"LEAD_VAULT_KEK="+keyC)
	if got := cfg.Redacted(); got != complete {
		t.Errorf("got:\n%s\nwant:\n%s", got, complete)
	}
}

func TestUnsetSecretsShowAsEmpty(t *testing.T) {
	cfg := Defaults(Serve)
	cfg.needed = []Section{SectionKeys}
	const want = "keys:\n  platform_keys: []\n  local_kek: []\n  write_with: \"\"\n"
	if got := cfg.Redacted(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// Each field of a section has one key. All fields are exported, because fmt would print an
// unexported Secret.
func TestEveryFieldHasKey(t *testing.T) {
	cfg := Defaults(Serve)
	for _, p := range cfg.parts() {
		section := reflect.TypeOf(p.values).Elem()
		if bound := len(p.fields()); bound != section.NumField() {
			t.Errorf("%s has %d keys for %d fields", p.name, bound, section.NumField())
		}
		for field := range section.Fields() {
			if !field.IsExported() {
				t.Errorf("%s.%s is not exported", p.name, field.Name)
			}
		}
	}
	const notSections = 2 // needed and secretFiles
	if bound, sections := len(cfg.parts()), reflect.TypeFor[Config]().NumField()-notSections; bound != sections {
		t.Errorf("%d parts for %d sections", bound, sections)
	}
}
