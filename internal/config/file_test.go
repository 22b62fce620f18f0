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
		{"an anchor that nobody uses", "log: {level: &l info}\n", nil},
		{"a list", "- http\n", []string{"pingpost.yaml:1: needs sections, such as `http:`, with their keys below them"}},
		{"a word", "http", []string{"pingpost.yaml:1: needs sections, such as `http:`, with their keys below them"}},
		{"two documents", "log: {level: info}\n---\nlog: {level: warn}\n", []string{"pingpost.yaml:2: cannot be understood as YAML: a second document begins; keep one"}},
		{"bad indentation", "log:\n  level: info\n format: json\n", []string{"pingpost.yaml:3: cannot be understood as YAML: did not find expected key (while parsing a block mapping on line 1)"}},
		{"a tab", "log:\n\tlevel: info\n", []string{"pingpost.yaml:2: cannot be understood as YAML: found character that cannot start any token"}},
		{"an open list", "log:\n  level: info\nhttp:\n  trusted_proxies: [10.0.0.0/8\n", []string{"pingpost.yaml:4: cannot be understood as YAML: did not find expected ',' or ']'"}},
		{"an open text", "log:\n  level: \"info\n", []string{"pingpost.yaml:2: cannot be understood as YAML: found unexpected end of stream"}},
		{"two values", "log: {level: info}: x\n", []string{"pingpost.yaml:1: cannot be understood as YAML: mapping values are not allowed in this context"}},
		{"not UTF-8", "log: \xff\n", []string{"pingpost.yaml:1: cannot be understood as YAML: invalid leading UTF-8 octet (value: 255)"}},
		{"an alias of nothing", "database: {url: *hunter2}\n", []string{"pingpost.yaml:1: cannot be understood as YAML: an alias (*) names no anchor (&); write values out, and quote those that begin with *"}},
		{"an alias", "log:\n  level: &l info\n  format: *l\n", []string{"pingpost.yaml:3: log.format: aliases are not supported; write the value out"}},
		{"an alias as a section", "log: &l {level: info}\nhttp: *l\n", []string{"pingpost.yaml:2: http: needs keys below it"}},
		{"an alias as a key", "log:\n  level: &format info\n  *format : json\n", []string{"pingpost.yaml:3: log: a key must be a single word"}},
		{"a merge", "log:\n  <<: {level: info}\n", []string{"pingpost.yaml:2: log: unknown key"}},
		{"a list as a key", "[a, b]: c\n", []string{"pingpost.yaml:1: a key must be a single word"}},
		{"a misspelt section", "databse:\n  url: x\n", []string{"pingpost.yaml:1: databse: unknown section; did you mean database?"}},
		{"a section of another product", "redis:\n  url: x\n", []string{"pingpost.yaml:1: redis: unknown section"}},
		{"a key outside its section", "pings_days: 3\n", []string{"pingpost.yaml:1: pings_days: unknown section; did you mean retention.pings_days?"}},
		{"a key in another section", "log:\n  pings_days: 3\n", []string{"pingpost.yaml:2: log.pings_days: unknown key; did you mean retention.pings_days?"}},
		{"a misspelt key", "retention:\n\n  ping_days: 3\n", []string{"pingpost.yaml:3: retention.ping_days: unknown key; did you mean pings_days?"}},
		{"a key nothing is like", "log: {colour: red}", []string{"pingpost.yaml:1: log.colour: unknown key"}},
		{"no _file for what is not secret", "log: {level_file: x}", []string{"pingpost.yaml:1: log.level_file: unknown key"}},
		{"a secret in a key's place", "keys:\n  " + keyA + ": x\n", []string{"pingpost.yaml:2: keys: unknown key"}},
		{"a secret in a section's place", databaseURL + "#: x\n", []string{"pingpost.yaml:1: unknown section"}},
		{"a key twice", "log:\n  level: info\n  level: info\n", []string{"pingpost.yaml:3: log.level: given twice, first on line 2; keep one"}},
		{"a section twice", "log:\n  level: info\nlog:\n  format: json\n", []string{"pingpost.yaml:3: log: given twice, first on line 1; keep one"}},
		{"a section as a value", "log: info\n", []string{"pingpost.yaml:1: log: needs keys below it"}},
		{"keys below a key", "log:\n  level:\n    http: debug\n", []string{"pingpost.yaml:3: log.level: needs a value, not keys below it"}},
		{"a list for one value", "log:\n  level: [info]\n", []string{"pingpost.yaml:2: log.level: needs one value, not a list"}},
		{"lists in a list", "http:\n  trusted_proxies:\n    - 10.0.0.0/8\n    - [10.0.0.0/8]\n", []string{"pingpost.yaml:4: http.trusted_proxies[1]: needs a single value"}},
		{"an item's line", "http:\n  trusted_proxies:\n    - 10.0.0.0/8\n    - 10.0.0.1/8\n", []string{"pingpost.yaml:4: http.trusted_proxies[1]: needs a network and its length, such as 10.0.0.0/8, or 192.0.2.7/32 for one address"}},
		{"not a number", "database:\n  max_connections: many\n", []string{"pingpost.yaml:2: database.max_connections: needs a whole number"}},
		{"a fraction", "database:\n  max_connections: 2.5\n", []string{"pingpost.yaml:2: database.max_connections: needs a whole number"}},
		{"a time without its unit", "limits:\n  post_wait: 2\n", []string{"pingpost.yaml:2: limits.post_wait: needs a time with its unit, such as 5s or 250ms"}},
		{"not a truth value", "log:\n  access: yes\n", []string{"pingpost.yaml:2: log.access: needs true or false"}},
		{"out of range", "database:\n  max_connections: 1\n", []string{"pingpost.yaml:2: database.max_connections: must be between 2 and 500"}},
		{"required, yet empty", "http:\n  api_addr:\n", nil}, // the environment has it
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
		{"both", "database:\n  url: " + databaseURL + "\n  url_file: /x\n", "pingpost.yaml:3: database.url: url_file contradicts url; keep one of the two"},
		{"missing", "database:\n  url_file: /x\n", "pingpost.yaml:2: database.url: the file that is named here cannot be read: file does not exist"},
		{"blank", "database:\n  url_file: /blank\n", "pingpost.yaml:2: database.url: the file that is named here is empty"},
		{"several", "database:\n  url_file: [/blank]\n", "pingpost.yaml:2: database.url: needs the name of one file"},
		{"keys below", "database:\n  url_file: {a: b}\n", "pingpost.yaml:2: database.url: needs a value, not keys below it"},
		{"required, yet empty", "database:\n  url:\n", "pingpost.yaml:2: database.url: required; set it in the file or in PINGPOST_DATABASE_URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk["pingpost.yaml"] = c.text
			_, err := load(Source{File: "pingpost.yaml", Need: []Section{SectionDatabase}}, disk.read)
			checkProblems(t, err, c.want)
		})
	}
}

func TestAFileThatCannotBeReadHidesNothingElse(t *testing.T) {
	_, err := load(Source{File: "absent.yaml", Environ: []string{"PINGPOST_NONSENSE=1"}}, files{}.read)
	checkProblems(t, err,
		"absent.yaml: cannot be read: file does not exist",
		"PINGPOST_NONSENSE: unknown variable",
	)
}
