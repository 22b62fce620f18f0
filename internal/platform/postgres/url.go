package postgres

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/pemfile"
)

// CheckURL returns an error if a database URL is not valid, or if a TLS file that it names cannot be
// used. It does not connect.
func CheckURL(text string) error {
	_, err := pgx.ParseConfig(text)
	if err != nil {
		return invalidURL(text)
	}
	return nil
}

// invalidURL explains why pgx rejects a database URL. It does not use pgx's error, which quotes the URL
// with its password.
func invalidURL(text string) error {
	if u, err := url.Parse(text); err == nil {
		if err := checkTLSFiles(u.Query()); err != nil {
			return fmt.Errorf("database.url: %w", err)
		}
	}
	return errors.New("invalid database URL: use postgres://user:password@host:port/database")
}

// ClientKey returns the name of the file with the private key of the client certificate that a database URL names,
// or "".
func ClientKey(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return tlsFile(u.Query(), "sslkey")
}

// tlsFile returns the file that a setting in a URL names. As in pgx, environment variables such as PGSSLROOTCERT
// replace missing settings.
func tlsFile(settings url.Values, name string) string {
	if settings.Has(name) {
		return settings.Get(name)
	}
	return os.Getenv("PG" + strings.ToUpper(name))
}

// checkTLSFiles checks the files that the settings in a URL name.
func checkTLSFiles(settings url.Values) error {
	root, cert, key := tlsFile(settings, "sslrootcert"), tlsFile(settings, "sslcert"), tlsFile(settings, "sslkey")
	for _, f := range []struct {
		name, path string
		check      func(string) error
	}{
		{"sslrootcert", root, pemfile.CheckCertificates},
		{"sslcert", cert, pemfile.CheckCertificates},
		{"sslkey", key, pemfile.CheckPrivateKey},
	} {
		if f.path == "" || f.name == "sslrootcert" && f.path == "system" {
			continue
		}
		if err := f.check(f.path); err != nil {
			return fmt.Errorf("%s %s: %w", f.name, f.path, err)
		}
	}
	if (cert == "") != (key == "") {
		return errors.New("sslcert and sslkey must be set together")
	}
	if cert != "" && settings.Get("sslpassword") == "" {
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			return fmt.Errorf("sslcert %s and sslkey %s cannot be used together: %w", cert, key, err)
		}
	}
	return nil
}
