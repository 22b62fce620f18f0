package postgres_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// useTLS makes the server use a certificate for 127.0.0.1 or another name.
func useTLS(t *testing.T, a *testkit.Authority, server *testkit.Server, name string, until time.Time) {
	t.Helper()
	certificate, key := a.Issue(t, name, until)
	folder := testkit.Value[string](t, server.URLs(t), `SHOW data_directory`)
	owner, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{"server.crt": certificate, "server.key": key} {
		path := filepath.Join(folder, file)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, int(owner.Sys().(*syscall.Stat_t).Uid), -1); err != nil {
			t.Fatal(err)
		}
	}
	server.Set(t, "ssl", "on")
}

// silent returns the address of a listener that never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func withOption(t *testing.T, text string, change func(*url.URL, url.Values)) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	options := u.Query()
	change(u, options)
	u.RawQuery = options.Encode()
	return u.String()
}

// inspectError returns the error of a new pool's first use.
func inspectError(t *testing.T, url string) error {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Options{URL: url, MaxConnections: 2, ConnectTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Inspect(t.Context())
	return err
}

// An error for a failed connection contains the host and the kind of failure, but no user, password or
// database.
func TestFailedConnectionNamesHostAndCause(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	app := server.NewDatabase(t).AppURL
	u, err := url.Parse(app)
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) func(*url.URL, url.Values) {
		return func(_ *url.URL, options url.Values) { options.Set(name, value) }
	}
	host := func(address string) func(*url.URL, url.Values) {
		return func(u *url.URL, _ url.Values) { u.Host = address }
	}
	refused, never := testkit.FreeAddress(t), silent(t)
	check := func(name, url, state string, want ...string) {
		t.Helper()
		err := inspectError(t, url)
		var safe *postgres.Err
		if !errors.As(err, &safe) || safe.SQLState != state {
			t.Errorf("%s: got %v, want SQLSTATE %q", name, err, state)
			return
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not contain %q: %v", name, part, err)
			}
		}
		for _, leak := range []string{"pingpost_app", "app-of-tests", "canary"} {
			if strings.Contains(every(err), leak) {
				t.Errorf("%s: the error contains %q: %v", name, leak, err)
			}
		}
	}
	at := func(cause string) string { return u.Host + ": " + cause }
	check("refused", withOption(t, app, host(refused)), "", refused+": connection refused")
	check("unknown host", withOption(t, app, host("db.invalid:5433")), "", "db.invalid:5433: host not found")
	check("no answer", withOption(t, app, host(never)), "", never+": timed out")
	check("several hosts", withOption(t, app, host(refused+",db.invalid:5433,"+never)), "",
		refused+": connection refused", "db.invalid:5433: host not found", never+": timed out")
	check("wrong password", strings.Replace(app, "app-of-tests", "canary", 1), "28P01", at("SQLSTATE 28P01"))
	check("missing database", withOption(t, app, func(u *url.URL, _ url.Values) { u.Path = "/canary" }), "3D000", at("SQLSTATE 3D000"))
	check("no TLS", withOption(t, app, set("sslmode", "require")), "", at("TLS: the server does not support TLS"))
	server.URLs(t).Exec(t, `ALTER ROLE pingpost_app CONNECTION LIMIT 0`)
	check("too many connections", app, "53300", at("SQLSTATE 53300"))
	server.URLs(t).Exec(t, `ALTER ROLE pingpost_app CONNECTION LIMIT -1`)
	server.URLs(t).Exec(t, `ALTER ROLE pingpost_app SET default_transaction_read_only = on`)
	check("read-only", withOption(t, app, set("target_session_attrs", "read-write")), "", at("the server is read-only or a standby"))
	server.URLs(t).Exec(t, `ALTER ROLE pingpost_app RESET default_transaction_read_only`)

	ca, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	verify := func(a *testkit.Authority) string {
		return withOption(t, app, func(_ *url.URL, options url.Values) {
			options.Set("sslmode", "verify-full")
			options.Set("sslrootcert", a.File)
		})
	}
	useTLS(t, ca, server, "127.0.0.1", time.Now().Add(time.Hour))
	testkit.Eventually(t, within, "TLS works", func() bool { return inspectError(t, verify(ca)) == nil })
	check("unknown authority", verify(other), "", at("TLS: certificate signed by unknown authority"))
	useTLS(t, ca, server, "db.example.com", time.Now().Add(time.Hour))
	testkit.Eventually(t, within, "the certificate is replaced", func() bool { return inspectError(t, verify(ca)) != nil })
	check("wrong host name", verify(ca), "", at("TLS: the certificate is not valid for this host name"))
	useTLS(t, ca, server, "127.0.0.1", time.Now().Add(-time.Hour))
	testkit.Eventually(t, within, "the certificate has expired", func() bool {
		return strings.Contains(inspectError(t, verify(ca)).Error(), at("TLS: the certificate has expired"))
	})
}

// A time limit that passes before the attempt to connect has failed does not hide the host.
func TestConnectingTooSlowlyNamesHost(t *testing.T) {
	t.Parallel()
	never := silent(t)
	db := openWith(t, "postgres://someone:secret@"+never+"/none", nil)
	done, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := db.Inspect(done); err == nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), never) {
		t.Errorf("got %v, want a timeout that names %s", err, never)
	}
}

func TestCommitOnStandbyIsReported(t *testing.T) {
	t.Parallel()
	primary := testkit.NewServer(t)
	primary.NewDatabase(t)
	err := openWith(t, primary.Standby(t).URLs(t).AppURL, nil).Commit(t.Context())
	var safe *postgres.Err
	if !errors.As(err, &safe) || safe.SQLState != "25006" || !strings.Contains(err.Error(), "standby") {
		t.Errorf("got %v, want SQLSTATE 25006 and the word standby", err)
	}
}

// An error for a TLS file names the file and says what is wrong with it. A missing file does not make the
// URL invalid.
func TestUnusableTLSFileIsNamed(t *testing.T) {
	t.Parallel()
	ca := testkit.NewAuthority(t)
	cert, key := ca.Issue(t, "client", time.Now().Add(time.Hour))
	_, otherKey := ca.Issue(t, "other", time.Now().Add(time.Hour))
	dir := t.TempDir()
	for name, text := range map[string][]byte{"cert": cert, "key": key, "other-key": otherKey, "text": []byte("text")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ root, cert, key, file, want string }{
		{root: "missing", file: "sslrootcert missing", want: "file not found"},
		{root: ".", file: "sslrootcert .", want: "not readable"},
		{root: "text", file: "sslrootcert text", want: "not a PEM certificate"},
		{cert: "missing", key: "key", file: "sslcert missing", want: "file not found"},
		{cert: "key", key: "key", file: "sslcert key", want: "not a PEM certificate"},
		{cert: "cert", key: "missing", file: "sslkey missing", want: "file not found"},
		{cert: "cert", key: "text", file: "sslkey text", want: "not a PEM private key"},
		{cert: "cert", key: "other-key", file: "sslkey other-key", want: "cannot be used together"},
		{cert: "cert", file: "sslkey", want: "together"},
		{cert: "cert", key: "key", root: ca.File},
	} {
		options := url.Values{"sslmode": {"verify-full"}}
		for name, file := range map[string]string{"sslrootcert": c.root, "sslcert": c.cert, "sslkey": c.key} {
			if file != "" && !filepath.IsAbs(file) {
				file = filepath.Join(dir, file)
			}
			if file != "" {
				options.Set(name, file)
			}
		}
		text := "postgres://someone:" + canary + "@127.0.0.1:1/none?" + options.Encode()
		db, err := postgres.Open(t.Context(), postgres.Options{URL: text})
		if err == nil {
			db.Close()
		}
		_, ownerErr := postgres.OpenOwner(text, time.Second)
		for _, err := range []error{err, ownerErr, postgres.CheckURL(text)} {
			if c.want == "" && err == nil {
				continue
			}
			file := strings.Replace(c.file, " ", " "+dir+"/", 1)
			file = strings.TrimSuffix(file, "/.")
			if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(every(err), canary) {
				t.Errorf("%+v: got %v", c, err)
			}
		}
	}
}
