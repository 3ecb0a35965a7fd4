package outlet

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/test/certificate"
)

const secret = "0123456789abcdef0123456789abcdef"

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// served opens a listener and has it answer "ok".
func served(t *testing.T, l Listening) string {
	t.Helper()
	open, err := Listen(l)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- open.Serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return open.Addr().String()
}

// Beyond this machine nobody listens without TLS and a way to know who asks.
func TestBeyondThisMachine(t *testing.T) {
	cert, key := certificate.Files(t)
	token := write(t, "token", secret+"\n")
	for name, c := range map[string]struct {
		l    Listening
		well bool
	}{
		"everywhere":             {Listening{Address: ":0"}, false},
		"everywhere by number":   {Listening{Address: "0.0.0.0:0"}, false},
		"everywhere of IPv6":     {Listening{Address: "[::]:0"}, false},
		"only TLS":               {Listening{Address: ":0", Cert: cert, Key: key}, false},
		"a token alone":          {Listening{Address: ":0", Token: token}, false},
		"no port":                {Listening{Address: "127.0.0.1"}, false},
		"authorities alone":      {Listening{Address: "127.0.0.1:0", ClientCA: cert}, false},
		"a certificate, no key":  {Listening{Address: "127.0.0.1:0", Cert: cert}, false},
		"this machine":           {Listening{Address: "127.0.0.1:0"}, true},
		"TLS and a token":        {Listening{Address: "127.0.0.1:0", Cert: cert, Key: key, Token: token}, true},
		"everywhere, as it must": {Listening{Address: ":0", Cert: cert, Key: key, Token: token}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Listen(c.l)
			if (err == nil) != c.well {
				t.Fatalf("got %v", err)
			}
			if err == nil {
				l.Close()
			} else if strings.Contains(c.l.Address, "::") && hint.Of(err) == "" {
				t.Error("there is no hint")
			}
		})
	}
}

func TestSecretsThatAreNone(t *testing.T) {
	open := write(t, "open", secret)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"all may read it": open, "short": write(t, "short", "abc"), "empty": write(t, "empty", "\n"), "binary": write(t, "b", "\x00\x01"), "not there": "/nonexistent/token"} {
		if _, err := tokenOf("--token", file); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Requests that a guard has to turn away, on a plain listener and on one with a token.
func TestWhoIsAnswered(t *testing.T) {
	plain := served(t, Listening{Address: "127.0.0.1:0"})
	guarded := served(t, Listening{Address: "127.0.0.1:0", Token: write(t, "token", secret)})
	for _, c := range []struct {
		name, to, request string
		want              string
	}{
		{"as it must be", plain, "GET /metrics HTTP/1.1\r\nHost: " + plain + "\r\n\r\n", "200"},
		{"localhost", plain, "GET /metrics HTTP/1.1\r\nHost: localhost:9931\r\n\r\n", "200"},
		{"a name rebound to us", plain, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"},
		{"a name that looks like us", plain, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", "421"},
		{"no host", plain, "GET /metrics HTTP/1.0\r\n\r\n", "421"},
		{"another path", plain, "GET /debug/pprof/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
		{"a path that climbs", plain, "GET /metrics/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
		{"a write", plain, "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx", "405"},
		{"a huge head", plain, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431"},
		{"two lengths", plain, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400"},
		{"no token", guarded, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "401"},
		{"a wrong token", guarded, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + secret + "0\r\n\r\n", "401"},
		{"the token without its word", guarded, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + secret + "\r\n\r\n", "401"},
		{"the token in the URL", guarded, "GET /metrics?token=" + secret + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "401"},
		{"the token", guarded, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + secret + "\r\n\r\n", "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", c.to)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, c.request) // the end of a huge head is not taken
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || !strings.Contains(line, " "+c.want+" ") {
				t.Errorf("got %q, %v; want %s", line, err, c.want)
			}
		})
	}
}

// Who asks for localhost is led to 127.0.0.1 or ::1, and is answered on both, as on
// ::1 where that alone was asked for.
func TestBothAddressesOfThisMachine(t *testing.T) {
	if !HasIPv6() {
		t.Skip("there is no IPv6 here")
	}
	answered := func(at string) {
		t.Helper()
		resp, err := http.Get("http://" + at + "/metrics")
		if err != nil {
			t.Errorf("%s: %v", at, err)
			return
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", at, resp.Status)
		}
	}
	answered(served(t, Listening{Address: "[::1]:0"}))
	_, port, err := net.SplitHostPort(served(t, Listening{Address: "localhost:0"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "::1", "localhost"} {
		answered(net.JoinHostPort(host, port))
	}
}

// On many systems a machine's own name leads to 127.0.1.1: who listens by it is asked
// by it.
func TestNameThatWasGiven(t *testing.T) {
	h := guard{here: true, name: "db1"}.before(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{"db1:9931": 200, "DB1": 200, "127.0.0.1:9931": 200, "db1.evil.example:9931": 421, "": 421} {
		r, w := httptest.NewRequest(http.MethodGet, "/metrics", nil), httptest.NewRecorder()
		r.Host = host
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("asked as %q: %d, want %d", host, w.Code, want)
		}
	}
}

// Those who send half a request, or were answered and ask no more, hold up nobody for
// longer than the head of a request may take.
func TestSlowClients(t *testing.T) {
	for name, sent := range map[string]string{"half a request": "GET /metrics HTTP/1.1\r\nHo", "one request and no more": "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := served(t, Listening{Address: "127.0.0.1:0"})
			for range mostConnections + 8 {
				c, err := net.Dial("tcp", at)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				fmt.Fprint(c, sent)
			}
			client := http.Client{Timeout: 6 * headTime}
			resp, err := client.Get("http://" + at + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("got %s", resp.Status)
			}
		})
	}
}

// TestNobodyKeepsAConnection: they could hold all of them, and nobody else would be answered.
func TestNobodyKeepsAConnection(t *testing.T) {
	at := served(t, Listening{Address: "127.0.0.1:0", Token: write(t, "token", secret)})
	for _, c := range []struct{ host, token string }{{"localhost", ""}, {"localhost", secret + "0"}, {"evil.example", secret}, {"localhost", secret}} {
		q, err := http.NewRequest(http.MethodGet, "http://"+at+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = c.host
		q.Header.Set("Authorization", "Bearer "+c.token)
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if !resp.Close {
			t.Errorf("%+v: %s, and the connection stays", c, resp.Status)
		}
	}
}

func TestClientCertificates(t *testing.T) {
	cert, key := certificate.Files(t)
	at := served(t, Listening{Address: "127.0.0.1:0", Cert: cert, Key: key, ClientCA: cert})
	pool, err := shell.Authorities("--ca", cert)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := keyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	strange, err := keyPair(certificate.Files(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		show []tls.Certificate
		well bool
	}{"ours": {[]tls.Certificate{*ours}, true}, "none": {nil, false}, "a stranger's": {[]tls.Certificate{*strange}, false}} {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: c.show}, DisableKeepAlives: true}}
		resp, err := client.Get("https://" + at + "/metrics")
		if err == nil {
			resp.Body.Close()
		}
		if (err == nil) != c.well {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A link in the place of the file is replaced and not followed, and nobody sees half a file.
func TestTextfile(t *testing.T) {
	dir := t.TempDir()
	victim, place := filepath.Join(dir, "victim"), Textfile{filepath.Join(dir, "plumb.prom")}
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, place.Path); err != nil {
		t.Fatal(err)
	}
	if place.Validate() == nil {
		t.Error("a link is taken for a file")
	}
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	if err := place.Write(text("a 1\n")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "mine" {
		t.Error("what the link led to was written")
	}
	st, err := os.Lstat(place.Path)
	if err != nil || st.Mode() != 0o644 {
		t.Errorf("got %v, %v", st.Mode(), err)
	}
	if err := place.Write(func(io.Writer) error { return io.ErrUnexpectedEOF }); err == nil {
		t.Error("half a file is written")
	}
	full := &fs.PathError{Op: "write", Path: filepath.Join(dir, ".plumb.prom.0123456789abcdef"), Err: syscall.ENOSPC}
	if err := place.Write(func(io.Writer) error { return full }); err == nil || err.Error() != "write "+place.Path+": no space left on device" {
		t.Errorf("on a full disk: %v", err)
	}
	got, _ := os.ReadFile(place.Path)
	left, _ := os.ReadDir(dir)
	if string(got) != "a 1\n" || len(left) != 2 {
		t.Errorf("got %q among %v", got, left)
	}
	for range 2 {
		if err := place.Remove(); err != nil {
			t.Errorf("it cannot be removed, or not twice: %v", err)
		}
	}
	mine, theirs := []string{".plumb.prom.00000000000000aa", ".plumb.prom.ffffffffffffffff"}, []string{".plumb.prom.swp", ".plumb.prom.00000000000000ag", ".other.prom.00000000000000aa", ".plumb.prom.00000000000000abc"}
	for _, name := range append(mine, theirs...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(victim, filepath.Join(dir, ".plumb.prom.00000000000000bb")); err != nil {
		t.Fatal(err)
	}
	if err := place.Tidy(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != len(theirs)+2 {
		t.Errorf("what killed runs left is not all that was removed: %v", left)
	}
	for _, bad := range []string{"/nonexistent/plumb.prom", filepath.Join(dir, "plumb.txt"), dir + "/x.prom/"} {
		if (Textfile{bad}).Validate() == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
