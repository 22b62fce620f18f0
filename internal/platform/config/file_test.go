package config

import "testing"

func TestFileProblems(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"only comments", "# nothing\n", nil},
		{"one empty document", "---\n", nil},
		{"an empty section", "http:\nlog: {}\n", nil},
		{"an unused anchor", "log: {level: &l info}\n", nil},
		{"a list", "- http\n", []string{"pingpost.yaml:1"}},
		{"a word", "http", []string{"pingpost.yaml:1"}},
		{"two documents", "log: {level: info}\n---\nlog: {level: warn}\n", []string{"pingpost.yaml:2"}},
		{"bad indentation", "log:\n  level: info\n format: json\n", []string{"pingpost.yaml:3"}},
		{"a tab", "log:\n\tlevel: info\n", []string{"pingpost.yaml:2"}},
		{"an unclosed list", "log:\n  level: info\nhttp:\n  trusted_proxies: [10.0.0.0/8\n", []string{"pingpost.yaml:4"}},
		{"an unclosed string", "log:\n  level: \"info\n", []string{"pingpost.yaml:2"}},
		{"two values", "log: {level: info}: x\n", []string{"pingpost.yaml:1"}},
		{"not UTF-8", "log: \xff\n", []string{"pingpost.yaml:1"}},
		{"an undefined alias", "database: {url: *hunter2}\n", []string{"pingpost.yaml:1"}},
		{"an alias", "log:\n  level: &l info\n  format: *l\n", []string{"pingpost.yaml:3: log.format"}},
		{"an alias as a section", "log: &l {level: info}\nhttp: *l\n", []string{"pingpost.yaml:2: http"}},
		{"an alias as a key", "log:\n  level: &format info\n  *format : json\n", []string{"pingpost.yaml:3: log"}},
		{"a merge", "log:\n  <<: {level: info}\n", []string{"pingpost.yaml:2: log"}},
		{"a list as a key", "[a, b]: c\n", []string{"pingpost.yaml:1"}},
		{"a misspelt section", "databse:\n  url: x\n", []string{"pingpost.yaml:1: databse"}},
		{"an unknown section", "redis:\n  url: x\n", []string{"pingpost.yaml:1: redis"}},
		{"a key outside its section", "pings_days: 3\n", []string{"pingpost.yaml:1: pings_days retention.pings_days"}},
		{"a key in another section", "log:\n  pings_days: 3\n", []string{"pingpost.yaml:2: log.pings_days retention.pings_days"}},
		{"a misspelt key", "retention:\n\n  ping_days: 3\n", []string{"pingpost.yaml:3: retention.ping_days pings_days"}},
		{"an unknown key", "log: {colour: red}", []string{"pingpost.yaml:1: log.colour"}},
		{"_file of a key that is not secret", "log: {level_file: x}", []string{"pingpost.yaml:1: log.level_file"}},
		{"a secret as a key", "keys:\n  " + keyA + ": x\n", []string{"pingpost.yaml:2: keys"}},
		{"a secret as a section", databaseURL + "#: x\n", []string{"pingpost.yaml:1"}},
		{"a duplicate key", "log:\n  level: info\n  level: info\n", []string{"pingpost.yaml:3: log.level"}},
		{"a duplicate section", "log:\n  level: info\nlog:\n  format: json\n", []string{"pingpost.yaml:3: log"}},
		{"a section as a value", "log: info\n", []string{"pingpost.yaml:1: log"}},
		{"keys below a key", "log:\n  level:\n    http: debug\n", []string{"pingpost.yaml:3: log.level"}},
		{"a list instead of a value", "log:\n  level: [info]\n", []string{"pingpost.yaml:2: log.level"}},
		{"a list in a list", "http:\n  trusted_proxies:\n    - 10.0.0.0/8\n    - [10.0.0.0/8]\n", []string{"pingpost.yaml:4: http.trusted_proxies[1]"}},
		{"the line of a list item", "http:\n  trusted_proxies:\n    - 10.0.0.0/8\n    - 10.0.0.1/8\n", []string{"pingpost.yaml:4: http.trusted_proxies[1]"}},
		{"not a number", "database:\n  max_connections: many\n", []string{"pingpost.yaml:2: database.max_connections"}},
		{"a fraction", "database:\n  max_connections: 2.5\n", []string{"pingpost.yaml:2: database.max_connections"}},
		{"a time without a unit", "limits:\n  post_wait: 2\n", []string{"pingpost.yaml:2: limits.post_wait"}},
		{"not true or false", "log:\n  access: yes\n", []string{"pingpost.yaml:2: log.access"}},
		{"out of range", "database:\n  max_connections: 1\n", []string{"pingpost.yaml:2: database.max_connections"}},
		{"required but empty", "http:\n  api_addr:\n", nil}, // the environment sets it
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := loadText(c.text, sufficient()...)
			checkProblems(t, err, c.want...)
		})
	}
}

func TestSecretFileProblemsInTheFile(t *testing.T) {
	disk := files{"/blank": " \n"}
	for _, c := range []struct{ name, text, want string }{
		{"both", "database:\n  url: " + databaseURL + "\n  url_file: /x\n", "pingpost.yaml:3: database.url url_file"},
		{"missing", "database:\n  url_file: /x\n", "pingpost.yaml:2: database.url"},
		{"blank", "database:\n  url_file: /blank\n", "pingpost.yaml:2: database.url"},
		{"several", "database:\n  url_file: [/blank]\n", "pingpost.yaml:2: database.url"},
		{"keys below", "database:\n  url_file: {a: b}\n", "pingpost.yaml:2: database.url"},
		{"required but empty", "database:\n  url:\n", "pingpost.yaml:2: database.url PINGPOST_DATABASE_URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk["pingpost.yaml"] = c.text
			_, err := load(Source{File: "pingpost.yaml", Need: []Section{SectionDatabase}}, disk.read)
			checkProblems(t, err, c.want)
		})
	}
}

func TestUnreadableFileDoesNotHideOtherProblems(t *testing.T) {
	_, err := load(Source{File: "absent.yaml", Environ: []string{"PINGPOST_NONSENSE=1"}}, files{}.read)
	checkProblems(t, err,
		"absent.yaml",
		"PINGPOST_NONSENSE",
	)
}
