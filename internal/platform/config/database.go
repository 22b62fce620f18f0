package config

import (
	"net"
	"strings"
	"time"
)

// Database holds the settings of the section `database`.
type Database struct {
	// `postgres://user:password@host:5432/name`, with special characters percent-encoded. If there are
	// standbys, list all hosts, separated by commas, and add `target_session_attrs=read-write`, so that
	// nodes find a promoted standby (see docs/how-to/fail-over-the-database.md). Use
	// `sslmode=verify-full` for a database on another machine, with `sslrootcert=FILE` for a private CA. The
	// node logs a warning for anything weaker than `require`. PgBouncer must be in session mode (see
	// docs/how-to/deploy.md).
	URL Secret

	// The maximum number of connections from this node, 2 to 500. A node also opens one connection for
	// notifications and, if the URL has several hosts, one to each host. The connections of all nodes
	// together must stay below the server's `max_connections`.
	MaxConnections int

	// How long one attempt to connect may take, up to `1m`.
	ConnectTimeout time.Duration

	// How long one statement may take, up to `1h`. Postgres enforces this limit, even behind PgBouncer. It
	// cannot be disabled, because a stuck statement would hold its connection and its locks. The statement
	// that stores a post is cancelled after at most 3 s, so that every post is answered within 5 s.
	StatementTimeout time.Duration

	// The period that one partition of the lead tables covers: `month` or `week`. Choose `week` if you
	// receive more than 500 leads a minute. A change applies only to partitions that are created after
	// the change.
	LeadPartitions string

	// The file with the data that the node uses to answer pings if it starts while the database is
	// unavailable (see docs/how-to/fail-over-the-database.md). Its folder is created if it is missing.
	// Use a disk that keeps its data across a restart. If this setting is empty, no file is used.
	SnapshotFile string
}

func defaultDatabase(p Profile) Database {
	d := Database{
		MaxConnections: 20, ConnectTimeout: 5 * time.Second, StatementTimeout: 5 * time.Second, LeadPartitions: "month",
	}
	if p == Serve {
		d.SnapshotFile = "/var/lib/pingpost/snapshot"
	}
	return d
}

func (d *Database) fields() []field {
	return []field{
		secret(text("url", &d.URL)),
		whole("max_connections", &d.MaxConnections),
		duration("connect_timeout", &d.ConnectTimeout),
		duration("statement_timeout", &d.StatementTimeout),
		text("lead_partitions", &d.LeadPartitions),
		text("snapshot_file", &d.SnapshotFile),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
//
// It does not use the driver's URL parser, because that parser also reads the PG… variables and password
// files, and its errors repeat parts of the URL.
func (d *Database) Validate() error {
	var ps Problems
	ps.require("database.url", d.URL != "")
	if rest, ok := postgresURL(d.URL); d.URL != "" && (!ok || rest == "" || strings.ContainsAny(rest, " \t\r\n")) {
		ps.add("database.url",
			"must be a URL such as postgres://user:password@host:5432/pingpost, with special characters percent-encoded")
	}
	between(&ps, "database.max_connections", d.MaxConnections, 2, 500)
	between(&ps, "database.connect_timeout", d.ConnectTimeout, time.Millisecond, time.Minute)
	between(&ps, "database.statement_timeout", d.StatementTimeout, time.Millisecond, time.Hour)
	oneOf(&ps, "database.lead_partitions", d.LeadPartitions, "month", "week")
	return ps.asError()
}

// encrypted reports whether connections to the database are safe: either the URL requires TLS without a
// fallback, or all hosts are on this machine.
func (d *Database) encrypted() bool {
	rest, _ := postgresURL(d.URL)
	rest, query, _ := strings.Cut(rest, "?")
	hosts, _, _ := strings.Cut(rest[strings.LastIndex(rest, "@")+1:], "/")
	for option := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(option, "=")
		switch {
		case name == "sslmode" && (value == "require" || strings.HasPrefix(value, "verify-")):
			return true
		case name == "host":
			hosts = value // takes precedence, as in the driver
		}
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if !onThisMachine(host) {
			return false
		}
	}
	return true
}

// onThisMachine reports whether a host in a database URL, with or without a port, is on this machine. An
// empty host or a path means a Unix socket.
func onThisMachine(host string) bool {
	if host == "" || host[0] == '/' || strings.HasPrefix(strings.ToLower(host), "%2f") {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return loopback(strings.Trim(host, "[]"))
}

func postgresURL(u Secret) (rest string, ok bool) {
	scheme, rest, ok := strings.Cut(u.Reveal(), "://")
	return rest, ok && (scheme == "postgres" || scheme == "postgresql")
}
