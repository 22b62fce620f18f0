package config

import "testing"

func TestDatabaseValidate(t *testing.T) {
	const form = "database.url"
	for _, c := range []struct {
		name   string
		change func(*Database)
		want   []string
	}{
		{"valid", func(*Database) {}, nil},
		{"the other scheme, several hosts", func(d *Database) {
			d.URL = "postgresql://u:p@a:5432,b:5432/db?target_session_attrs=read-write"
		}, nil},
		{"a socket", func(d *Database) { d.URL = "postgres:///db?host=/run/postgresql" }, nil},
		{"none", func(d *Database) { d.URL = "" }, []string{"database.url PINGPOST_DATABASE_URL"}},
		{"keywords", func(d *Database) { d.URL = "host=localhost password=hunter2" }, []string{form}},
		{"another database", func(d *Database) { d.URL = "mysql://u:hunter2@host/db" }, []string{form}},
		{"nothing after the scheme", func(d *Database) { d.URL = "postgres://" }, []string{form}},
		{"a space", func(d *Database) { d.URL = "postgres://u:hunter 2@host/db" }, []string{form}},
		{"numbers", func(d *Database) { d.MaxConnections, d.ConnectTimeout, d.StatementTimeout = 501, 0, 0 }, []string{
			"database.connect_timeout",
			"database.max_connections",
			"database.statement_timeout",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := defaultDatabase(Serve)
			d.URL = databaseURL
			c.change(&d)
			checkProblems(t, d.Validate(), c.want...)
		})
	}
}

func TestDatabaseEncrypted(t *testing.T) {
	for url, want := range map[Secret]bool{
		"postgres://u:p@localhost/db":                                  true,
		"postgres://u:p@127.0.0.1:5432/db?sslmode=disable":             true,
		"postgres://u:p@[::1]:5432/db":                                 true,
		"postgres://u:p@[::1]/db":                                      true,
		"postgres:///db":                                               true,
		"postgres:///db?host=/run/postgresql":                          true,
		"postgres://u:p@db/db?host=%2Frun%2Fpostgresql":                true,
		"postgres://u:p@db.example.com/db?sslmode=require":             true,
		"postgres://u:p@a,b/db?pool_max_conns=3&sslmode=verify-full":   true,
		"postgres://u:p@db.example.com/db":                             false,
		"postgres://u:p@db.example.com/db?sslmode=prefer":              false,
		"postgres://u:p@db.example.com:5432/db?sslmode=disable":        false,
		"postgres://u:p@localhost:5432,db.example.com:5432/db":         false,
		"postgres://localhost@db.example.com/db":                       false,
		"postgres:///db?host=db.example.com":                           false,
		"postgres://[2001:db8::1]:5432/db?application_name=sslmode%3D": false,
	} {
		d := Database{URL: url}
		if got := d.encrypted(); got != want {
			t.Errorf("%s: %v, want %v", url.Reveal(), got, want)
		}
	}
}
