// Package certificate makes certificates for tests of TLS. All are of 127.0.0.1 and localhost, and hold for a day.
package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
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

// Certificate is one with its key.
type Certificate struct {
	of  *x509.Certificate
	key *ecdsa.PrivateKey
}

// SelfSigned makes a certificate that is its own authority, good for servers, for clients and to sign others.
func SelfSigned(name string) (Certificate, error) {
	f := form(name)
	f.IsCA, f.BasicConstraintsValid = true, true
	f.KeyUsage |= x509.KeyUsageCertSign
	return signed(f, nil)
}

// Sign makes a certificate of which c is the authority.
func (c Certificate) Sign(name string) (Certificate, error) { return signed(form(name), &c) }

func form(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"127.0.0.1", "localhost"}, // some clients compare an address with the names
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// signed makes the certificate of a form, signed by an authority or, where that is nil, by itself.
func signed(form *x509.Certificate, by *Certificate) (c Certificate, err error) {
	if c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return c, err
	}
	if by == nil {
		by = &Certificate{form, c.key}
	}
	raw, err := x509.CreateCertificate(rand.Reader, form, by.of, c.key.Public(), by.key)
	if err != nil {
		return c, err
	}
	c.of, err = x509.ParseCertificate(raw)
	return c, err
}

// TLS gives the certificate as package tls takes it.
func (c Certificate) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{c.of.Raw}, PrivateKey: c.key}
}

// Pool trusts the certificate, and nothing else.
func (c Certificate) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.of)
	return pool
}

// PEM gives the certificate and its key as they are kept in files.
func (c Certificate) PEM() (cert, key string, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(c.key)
	block := func(kind string, of []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: of}))
	}
	return block("CERTIFICATE", c.of.Raw), block("PRIVATE KEY", der), err
}

// Files makes a self-signed certificate, in files that only their owner reads.
func Files(t testing.TB) (cert, key string) {
	t.Helper()
	c, err := SelfSigned("test")
	if err != nil {
		t.Fatal(err)
	}
	return c.Files(t)
}

// Files writes the certificate and its key to files that only their owner reads.
func (c Certificate) Files(t testing.TB) (cert, key string) {
	t.Helper()
	certText, keyText, err := c.PEM()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, text := range map[string]string{cert: certText, key: keyText} {
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
