package backup

import (
	"crypto/tls"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"plumb/test/certificate"
)

// TestAuthorities backs up to an endpoint whose certificate is of an authority that this machine does not know. What AWS says of
// $AWS_CA_BUNDLE decides: it comes in the place of the machine's authorities, so of $SSL_CERT_FILE too. The server keeps objects in memory: it
// is the line to it that is tried.
func TestAuthorities(t *testing.T) {
	company, err := certificate.SelfSigned("ours")
	must(t, err)
	server, err := company.Sign("store")
	must(t, err)
	ours, _ := company.Files(t)
	others, _ := certificate.Files(t)
	behind := s3mem.New()
	must(t, behind.CreateBucket("backups"))
	s := httptest.NewUnstartedServer(gofakes3.New(behind).Server())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{server.TLS()}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not believe it
	s.StartTLS()
	t.Cleanup(s.Close)
	rubbish := filepath.Join(t.TempDir(), "rubbish.pem")
	must(t, os.WriteFile(rubbish, []byte("-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n"), 0o600))
	missing := filepath.Join(t.TempDir(), "missing.pem")
	const unknown = "the certificate of the endpoint is not trusted"
	for _, c := range []struct{ name, bundle, file, want string }{
		{"none", "", "", unknown},
		{"bundle", ours, "", ""},
		{"file", "", ours, ""},
		{"the bundle decides", others, ours, unknown},
		{"the file is not asked", ours, rubbish, ""},
		{"bundle that is none", rubbish, ours, "read " + rubbish + " of $AWS_CA_BUNDLE: it holds no certificate"},
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
