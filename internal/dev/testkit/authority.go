package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a certificate authority for tests.
type Authority struct {
	File string // contains its certificate as PEM

	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	issued int64
}

// NewAuthority returns an authority that is valid for an hour.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{File: filepath.Join(t.TempDir(), "ca.crt")}
	a.cert = &x509.Certificate{
		Subject: pkix.Name{CommonName: "CA of tests"}, IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	text, _ := a.sign(t, a.cert)
	if err := os.WriteFile(a.File, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// Issue returns a certificate for an IP address or a host name, and its private key, as PEM.
func (a *Authority) Issue(t testing.TB, name string, until time.Time) (certificate, key []byte) {
	t.Helper()
	cert := &x509.Certificate{NotAfter: until}
	if ip := net.ParseIP(name); ip != nil {
		cert.IPAddresses = []net.IP{ip}
	} else {
		cert.DNSNames = []string{name}
	}
	return a.sign(t, cert)
}

// Roots returns the pool of CAs that contains only this authority.
func (a *Authority) Roots(t testing.TB) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(a.File)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// sign signs a certificate with a new key. The authority signs its own certificate first.
func (a *Authority) sign(t testing.TB, cert *x509.Certificate) (certificate, key []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if a.key == nil {
		a.key = own
	}
	a.issued++
	cert.SerialNumber, cert.NotBefore = big.NewInt(a.issued), time.Now().Add(-24*time.Hour)
	signed, err := x509.CreateCertificate(rand.Reader, cert, a.cert, own.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}
