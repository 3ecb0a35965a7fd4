package monitoring

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/watch/outlet"
	"plumb/test/certificate"
	"plumb/test/sandbox"
)

// put writes a file that nobody else reads.
func put(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The set-up of docs/fleet.md: a VictoriaMetrics that wants a password over
// TLS. Without the password, with a wrong one, or without the right authority
// nothing arrives, and nobody is sent the password by mistake.
func TestFleetWithAuthentication(t *testing.T) {
	bin := programs(t)
	cert, key := certificate.Files(t)
	at := fmt.Sprintf("127.0.0.1:%d", sandbox.FreePort(t))
	password := put(t, "password", []byte("correct-horse"))
	start(t, bin+"/victoria-metrics", "-storageDataPath="+t.TempDir(), "-httpListenAddr="+at, "-search.latencyOffset=0s", "-memory.allowedBytes=256MB",
		"-tls", "-tlsCertFile="+cert, "-tlsKeyFile="+key, "-httpAuth.username=plumb", "-httpAuth.password=correct-horse")
	right := outlet.Target{URL: "https://" + at + "/api/v1/write", Login: put(t, "login", []byte("plumb:correct-horse\n")), CA: cert}
	wrong, strange := right, right
	wrong.Login = password
	strange.CA, _ = certificate.Files(t)
	counts := map[string]func() outlet.Counts{}
	for name, target := range map[string]outlet.Target{"right": right, "wrong": wrong, "strange": strange} {
		push, err := outlet.NewPush(target, "plumb/test", func(error) {})
		if err != nil {
			t.Fatal(err)
		}
		ctx, _ := contextOf(t)
		go push.Run(ctx)
		host := makeHost(t, false, 600)
		push.Add(host.Remote(map[string]string{"instance": name}).Request(time.Now()))
		counts[name] = push.Counts
	}
	eventually(t, "the right one is taken", 30*time.Second, func() bool { return counts["right"]().Sent > 0 })
	eventually(t, "the others are tried again", 30*time.Second, func() bool { return counts["wrong"]().Retries > 0 && counts["strange"]().Retries > 0 })
	if counts["wrong"]().Sent+counts["strange"]().Sent > 0 {
		t.Error("a sender that is not known is taken")
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	req, err := http.NewRequest(http.MethodGet, "https://"+at+"/api/v1/series?match[]=plumb_build_info", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("plumb", "correct-horse")
	eventually(t, "one host is there, and no other", 30*time.Second, func() bool {
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return err == nil && strings.Contains(string(text), `"right"`) && !strings.Contains(string(text), `"wrong"`) && !strings.Contains(string(text), `"strange"`)
	})
}

// A real Prometheus scrapes over TLS with a token, and not without one.
func TestScrapedWithToken(t *testing.T) {
	bin := programs(t)
	cert, key := certificate.Files(t)
	token := put(t, "token", []byte("0123456789abcdef0123456789abcdef\n"))
	l, err := outlet.Listen(outlet.Listening{Address: "127.0.0.1:0", Cert: cert, Key: key, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	host := makeHost(t, false, 600)
	host.live(t)
	ctx, cancel := contextOf(t)
	done := make(chan error, 1)
	go func() { done <- l.Serve(ctx, host.Handler(true)) }()
	t.Cleanup(func() { cancel(); <-done })
	config := fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - {job_name: with, scheme: https, tls_config: {ca_file: %q}, authorization: {credentials_file: %q}, static_configs: [{targets: [%q]}]}
  - {job_name: without, scheme: https, tls_config: {ca_file: %q}, static_configs: [{targets: [%q]}]}
`, cert, token, l.Addr(), cert, l.Addr())
	at := fmt.Sprintf("127.0.0.1:%d", sandbox.FreePort(t))
	start(t, bin+"/prometheus", "--config.file="+put(t, "prometheus.yaml", []byte(config)), "--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+at)
	p := engine{name: "Prometheus", url: "http://" + at}.ready(t)
	eventually(t, "it scrapes with the token", 30*time.Second, func() bool {
		return len(p.query(t, `up{job="with"} == 1 and on (instance) plumb_build_info{job="with"}`)) == 1
	})
	eventually(t, "it tried without", 30*time.Second, func() bool { return len(p.query(t, `up{job="without"}`)) == 1 })
	if len(p.query(t, `up{job="without"} == 0`)) != 1 {
		t.Error("it scrapes without the token")
	}
}
