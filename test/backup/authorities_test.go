package backup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// authority is one of our own, as a company has it, with the file of its certificate.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	a := authority{file: filepath.Join(t.TempDir(), name+".pem")}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, form, form, a.key.Public(), a.key)
	must(t, err)
	a.cert, err = x509.ParseCertificate(raw)
	must(t, err)
	must(t, os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600))
	return a
}

// vouches gives a certificate of this machine's address.
func (a authority) vouches(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	form := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "store"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	raw, err := x509.CreateCertificate(rand.Reader, form, a.cert, key.Public(), a.key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// TestAuthorities backs up to an endpoint whose certificate is of an authority that this machine does not know. What AWS says of
// $AWS_CA_BUNDLE decides: it comes in the place of the machine's authorities, so of $SSL_CERT_FILE too. The server keeps objects in memory: it
// is the line to it that is tried.
func TestAuthorities(t *testing.T) {
	ours, others := newAuthority(t, "ours"), newAuthority(t, "others")
	behind := s3mem.New()
	must(t, behind.CreateBucket("backups"))
	s := httptest.NewUnstartedServer(gofakes3.New(behind).Server())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{ours.vouches(t)}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not believe it
	s.StartTLS()
	t.Cleanup(s.Close)
	rubbish := filepath.Join(t.TempDir(), "rubbish.pem")
	must(t, os.WriteFile(rubbish, []byte("-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n"), 0o600))
	missing := filepath.Join(t.TempDir(), "missing.pem")
	const unknown = "the certificate of the endpoint is not believed"
	for _, c := range []struct{ name, bundle, file, want string }{
		{"none", "", "", unknown},
		{"bundle", ours.file, "", ""},
		{"file", "", ours.file, ""},
		{"the bundle decides", others.file, ours.file, unknown},
		{"the file is not asked", ours.file, rubbish, ""},
		{"bundle that is none", rubbish, ours.file, "read " + rubbish + " of $AWS_CA_BUNDLE: it holds no certificate"},
		{"file that is none", "", rubbish, "read " + rubbish + " of $SSL_CERT_FILE: it holds no certificate"},
		{"bundle that is not there", missing, "", "read " + missing + " of $AWS_CA_BUNDLE: no such file"},
		{"file that is not there", "", missing, "read " + missing + " of $SSL_CERT_FILE: no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(built.Path, "backup", "--command", "echo hello", "--to", "s3://backups/"+strings.ReplaceAll(c.name, " ", "-"), "--endpoint", s.URL, "--region", "us-east-1",
				"--recipient", "age1x30tqnf92p8ezkll6w3hfxpek3fj38ff55e4a4kwsf9ddw800dlsnt74up", "--state", t.TempDir())
			cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "AWS_CA_BUNDLE="+c.bundle, "SSL_CERT_FILE="+c.file)
			out, err := cmd.CombinedOutput()
			said := strings.Join(strings.Fields(string(out)), " ")
			if c.want == "" && (err != nil || !strings.Contains(said, "echo: 6 bytes")) || c.want != "" && (err == nil || !strings.Contains(said, c.want)) {
				t.Errorf("%v\n%s", err, out)
			}
			if c.want == unknown && !strings.Contains(said, "hint: $AWS_CA_BUNDLE names a file") {
				t.Errorf("nothing says what to do:\n%s", out)
			}
		})
	}
}
