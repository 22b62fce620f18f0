// Package pemfile checks PEM files before they are used. Its errors say what is wrong with a file, but do
// not contain the file's name, which the caller adds if it is not secret.
package pemfile

import (
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// CheckCertificates returns an error if the file does not contain certificates.
func CheckCertificates(path string) error {
	return check(path, "not a PEM certificate", func(kind string) bool { return kind == "CERTIFICATE" })
}

// CheckPrivateKey returns an error if the file does not contain a private key.
func CheckPrivateKey(path string) error {
	return check(path, "not a PEM private key", func(kind string) bool { return strings.HasSuffix(kind, "PRIVATE KEY") })
}

func check(path, otherwise string, wanted func(kind string) bool) error {
	text, err := os.ReadFile(path) //nolint:gosec // the operator chose the file
	if err != nil {
		return Reason(err)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if wanted(block.Type) {
			return nil
		}
	}
	return errors.New(otherwise)
}

// Reason returns the reason why a file could not be opened, without the file's name.
func Reason(err error) error {
	var failed *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("file not found")
	case errors.As(err, &failed):
		return errors.New("not readable (" + failed.Err.Error() + ")")
	}
	return errors.New("not readable")
}
