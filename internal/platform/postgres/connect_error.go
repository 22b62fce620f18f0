package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// explainConnect returns the error for a failed attempt to connect. Its text contains each host in the
// URL with the reason for its failure, but no user, password or database name.
func explainConnect(err *pgconn.ConnectError) *Err {
	var failures []string
	for _, attempt := range attempts(err) {
		failure := hostOf(attempt, err.Config) + ": " + connectFailure(attempt)
		// pgx tries the same host again without TLS, and at each of its addresses.
		if !slices.Contains(failures, failure) {
			failures = append(failures, failure)
		}
	}
	e := &Err{kind: "cannot connect to " + strings.Join(failures, "; "), cause: err}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		e.SQLState = pg.Code
	}
	e.permanent = errors.Is(err, errPooler)
	return e
}

// attempts returns the error of each attempt to connect to a host.
func attempts(err *pgconn.ConnectError) []error {
	var joined interface {
		error
		Unwrap() []error
	}
	if errors.As(err.Unwrap(), &joined) {
		return joined.Unwrap()
	}
	return []error{err.Unwrap()}
}

// attemptText matches the start of pgconn's error for an attempt: the address and the host in the URL.
var attemptText = regexp.MustCompile(`^(\S+) \(([^)]*)\): `)

// hostOf returns the host and port of an attempt, or the path of a socket.
func hostOf(attempt error, cfg *pgconn.Config) string {
	if found := attemptText.FindStringSubmatch(attempt.Error()); found != nil {
		if _, port, err := net.SplitHostPort(found[1]); err == nil {
			return net.JoinHostPort(found[2], port)
		}
		return found[1]
	}
	host, port := cfg.Host, cfg.Port
	var lookup *net.DNSError
	if errors.As(attempt, &lookup) {
		host = lookup.Name
		for _, other := range cfg.Fallbacks {
			if other.Host == host {
				port = other.Port
			}
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// connectFailure returns the reason for a failed attempt. It never repeats text from the server.
func connectFailure(err error) string {
	var pg *pgconn.PgError
	var lookup *net.DNSError
	var netErr net.Error
	var number syscall.Errno
	switch {
	case errors.Is(err, errReplaced):
		return "the server was replaced by a newer primary"
	case errors.Is(err, errPooler):
		return errPooler.Error()
	case errors.As(err, &pg):
		return serverFailure(pg)
	case errors.Is(err, pgconn.ErrReadOnlyConnection), errors.Is(err, pgconn.ErrStandbyConnection):
		return "the server is read-only or a standby, but target_session_attrs requires a primary"
	case errors.Is(err, pgconn.ErrReadWriteConnection), errors.Is(err, pgconn.ErrPrimaryConnection):
		return "the server is a primary, but target_session_attrs requires a standby"
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "host not found"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return "timed out"
	case lookup != nil:
		return "the name server failed"
	case errors.As(err, &number):
		return number.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection"
	}
	if reason := tlsFailure(err); reason != "" {
		return "TLS: " + reason
	}
	return "login failed"
}

func tlsFailure(err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var header tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &authority):
		return "certificate signed by unknown authority: set sslrootcert in database.url to the CA's certificate"
	case errors.As(err, &name):
		return "the certificate is not valid for this host name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not valid yet"
	case errors.As(err, &invalid):
		return "the certificate is not valid"
	case strings.HasSuffix(err.Error(), " TLS connection"), errors.As(err, &header): // pgx has no type for this
		return "the server does not support TLS"
	case errors.As(err, &op) && op.Op == "remote error": // an alert, whose text is one of crypto/tls's constants
		return "rejected by the server (" + op.Err.Error() + ")"
	}
	return ""
}

// serverFailure returns the reason why a server or a pooler rejected a connection.
func serverFailure(pg *pgconn.PgError) string {
	text := "SQLSTATE " + pg.Code
	if hint := poolerHint(pg); hint != "" {
		return text + ": " + hint
	}
	if hint, ok := operatorHints[pg.Code]; ok {
		return text + ": " + hint
	}
	return text
}

// poolerHint explains an error of PgBouncer, which reports nearly all errors with the same SQLSTATE. The
// result is "" for all other errors.
func poolerHint(pg *pgconn.PgError) string {
	if pg.Code != "08P01" {
		return ""
	}
	for _, known := range []struct{ text, hint string }{
		{"unsupported startup parameter",
			"PgBouncer rejects a parameter in database.url: remove it, or add it to ignore_startup_parameters"},
		{"query_wait_timeout", "PgBouncer has no free server connection: raise default_pool_size"},
		{"max_client_conn", "PgBouncer accepts no more clients: raise max_client_conn"},
		{"no such database", operatorHints["3D000"]},
		{"no such user", operatorHints["28P01"]},
		{"authentication failed", operatorHints["28P01"]},
		{"login has been failing", "PgBouncer cannot log in to Postgres; see its log"},
		{"cannot connect", "PgBouncer cannot connect to Postgres; see its log"},
		{"client_login_timeout", "PgBouncer cannot connect to Postgres in time; see its log"},
	} {
		if strings.Contains(pg.Message, known.text) {
			return known.hint
		}
	}
	return "protocol error, probably from a pooler such as PgBouncer; see its log"
}
