package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/view/viewtest"
	view "plumb/internal/view/watch"
	"plumb/internal/view/web"
	"plumb/internal/watch"
)

const testToken = "6f1d2c3b4a5968778695a4b3c2d1e0f00f1e2d3c4b5a69788796a5b4c3d2e1f0"

// serving serves a made feed of one moment each 50 ms, and gives its port.
func serving(t *testing.T) int {
	t.Helper()
	listeners, port, err := listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	p := strconv.Itoa(port)
	go func() {
		done <- serve(ctx, web.New(testToken, "127.0.0.1:"+p, "localhost:"+p, "[::1]:"+p), listeners, feed.Windows(&shell.Shell{}), false, made)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("it does not end")
		}
		closeAll(listeners)
	})
	return port
}

// made is a feed without a host.
func made(ctx context.Context, s watch.Sink) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 5; ; n++ {
		s.(feed.Told).Moment(viewtest.Moment(n))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// say sends bytes as they are, and gives the status and what came back.
func say(t *testing.T, port int, text string) (int, http.Header, string) {
	t.Helper()
	c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	// A request that is too large is refused before it is read.
	_, _ = io.WriteString(c, text)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, nil, ""
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	return r.StatusCode, r.Header, string(body)
}

// attacks is the list of what is tried on the server's port. HOST, PORT and TOKEN
// stand for the right ones.
var attacks = []struct {
	name, request string
	want          int
}{
	{"the page", "GET / HTTP/1.1\r\nHost: HOST\r\n", 200},
	{"the icon a browser asks for by itself", "GET /favicon.ico HTTP/1.1\r\nHost: HOST\r\n", 200},
	{"with the token", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 200},
	{"from the page itself", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nSec-Fetch-Site: same-origin\r\nAuthorization: Bearer TOKEN\r\n", 200},

	{"no token", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\n", 401},
	{"no token, a plan", "GET /api/plan/0123456789abcdef01234567 HTTP/1.1\r\nHost: HOST\r\n", 401},
	{"the plan of nothing", "GET /api/plan/ HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 404},
	{"the plan of what is not shown", "GET /api/plan/0123456789abcdef01234567 HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 404},
	{"the plan of a statement of one's own", "GET /api/plan/SELECT%20sleep(9) HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 404},
	{"a plan from another site", "GET /api/plan/0123456789abcdef01234567 HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\nAuthorization: Bearer TOKEN\r\n", 403},
	{"no token, stream", "GET /api/stream HTTP/1.1\r\nHost: HOST\r\n", 401},
	{"a wrong token", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer " + strings.Repeat("0", 64) + "\r\n", 401},
	{"an empty token", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer \r\n", 401},
	{"the start of the token", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer " + testToken[:63] + "\r\n", 401},
	{"the token and more", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKENx\r\n", 401},
	{"the token as a password", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: Basic TOKEN\r\n", 401},
	{"the token without its scheme", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: TOKEN\r\n", 401},
	{"two tokens", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer x\r\nAuthorization: Bearer TOKEN\r\n", 401},
	{"the token as a cookie", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nCookie: token=TOKEN\r\n", 401},
	{"the token in the address", "GET /api/moment?token=TOKEN HTTP/1.1\r\nHost: HOST\r\n", 400},
	{"a query on the page", "GET /?TOKEN HTTP/1.1\r\nHost: HOST\r\n", 400},
	{"an empty query", "GET /? HTTP/1.1\r\nHost: HOST\r\n", 400},

	{"rebinding: a name that leads here", "GET / HTTP/1.1\r\nHost: evil.example:PORT\r\nAuthorization: Bearer TOKEN\r\n", 421},
	{"rebinding: another port", "GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\n", 421},
	{"rebinding: no port", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", 421},
	{"rebinding: a name that begins right", "GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example:PORT\r\n", 421},
	{"rebinding: a dot behind", "GET / HTTP/1.1\r\nHost: localhost.:PORT\r\n", 421},
	{"rebinding: every address", "GET / HTTP/1.1\r\nHost: 0.0.0.0:PORT\r\n", 421},
	{"rebinding: a user before it", "GET / HTTP/1.1\r\nHost: evil@HOST\r\n", 400},
	{"an empty host", "GET / HTTP/1.1\r\nHost: \r\n", 421},
	{"no host", "GET / HTTP/1.1\r\n", 400},
	{"two hosts", "GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n", 400},
	{"HTTP/1.0 without a host", "GET /api/moment HTTP/1.0\r\nAuthorization: Bearer TOKEN\r\n", 421},
	{"a forwarded host", "GET / HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: HOST\r\n", 421},
	{"an absolute address", "GET http://HOST/api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 400},
	{"an absolute address of another", "GET http://evil.example/ HTTP/1.1\r\nHost: HOST\r\n", 400},
	{"a proxy for TLS", "CONNECT HOST HTTP/1.1\r\nHost: HOST\r\n", 405},
	{"an asterisk", "OPTIONS * HTTP/1.1\r\nHost: HOST\r\n", 405},

	{"another site", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\nAuthorization: Bearer TOKEN\r\n", 403},
	{"another port's site", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nOrigin: http://127.0.0.1:1\r\nAuthorization: Bearer TOKEN\r\n", 403},
	{"a site without a name", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nOrigin: null\r\nAuthorization: Bearer TOKEN\r\n", 403},
	{"two origins", "GET / HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nOrigin: http://evil.example\r\n", 403},
	{"fetched by another site", "GET /page.js HTTP/1.1\r\nHost: HOST\r\nSec-Fetch-Site: cross-site\r\n", 403},
	{"fetched by the same site", "GET / HTTP/1.1\r\nHost: HOST\r\nSec-Fetch-Site: same-site\r\n", 403},

	{"POST", "POST /api/moment HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 0\r\n", 405},
	{"PUT", "PUT / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n", 405},
	{"DELETE", "DELETE / HTTP/1.1\r\nHost: HOST\r\n", 405},
	{"HEAD", "HEAD / HTTP/1.1\r\nHost: HOST\r\n", 405},
	{"OPTIONS", "OPTIONS /api/moment HTTP/1.1\r\nHost: HOST\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: GET\r\n", 405},
	{"TRACE", "TRACE / HTTP/1.1\r\nHost: HOST\r\n", 405},
	{"a method over another", "GET /api/moment HTTP/1.1\r\nHost: HOST\r\nX-HTTP-Method-Override: DELETE\r\n", 401},
	{"a body", "GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n", 400},
	{"a body in pieces", "GET / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n", 400},
	{"two lengths", "GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\nContent-Length: 9\r\n", 400},

	{"up the path", "GET /../../../../etc/passwd HTTP/1.1\r\nHost: HOST\r\n", 401},
	{"up the path, encoded", "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: HOST\r\n", 401},
	{"up the path, with the token", "GET /../web.go HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 404},
	{"up the path, backwards", "GET /..\\..\\etc\\passwd HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 404},
	{"a path with a nought", "GET /page.js%00.html HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 404},
	{"two slashes", "GET //page.js HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 404},
	{"a list of the files", "GET /assets/ HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 404},
	{"the debugger", "GET /debug/pprof/ HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n", 404},

	{"a huge header", "GET / HTTP/1.1\r\nHost: HOST\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n", 431},
	{"many headers", "GET / HTTP/1.1\r\nHost: HOST\r\n" + strings.Repeat("X-Y: aaaaaaaa\r\n", 5000), 431},
	{"a huge path", "GET /" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\nHost: HOST\r\n", 431},
	{"a line in a header", "GET / HTTP/1.1\r\nHost: HOST\r\nX: a\rb\r\n", 400},
	{"nonsense", "\x16\x03\x01\x02\x00\x01\x00\r\n", 400},
}

// TestAttacksOnThePage tries all of them, and some that are none.
func TestAttacksOnThePage(t *testing.T) {
	t.Parallel()
	port := serving(t)
	until(t, port)
	for _, c := range attacks {
		t.Run(c.name, func(t *testing.T) {
			host := "127.0.0.1:" + strconv.Itoa(port)
			text := strings.NewReplacer("HOST", host, "TOKEN", testToken, "PORT", strconv.Itoa(port)).Replace(c.request) + "Connection: close\r\n\r\n"
			got, h, body := say(t, port, text)
			if got != c.want {
				t.Errorf("answered with %d, want %d: %.200s", got, c.want, body)
			}
			if strings.Contains(body, testToken) || got != 200 && (strings.Contains(body, "mysql") || strings.Contains(body, "root:")) {
				t.Errorf("it tells what it should not: %.300s", body)
			}
			if h.Get("Access-Control-Allow-Origin") != "" || h.Get("Set-Cookie") != "" || h.Get("Location") != "" {
				t.Errorf("it lets others in: %v", h)
			}
			if got == 200 || got == 401 {
				for name, want := range map[string]string{"Content-Security-Policy": "default-src 'self';", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
					if !strings.HasPrefix(h.Get(name), want) {
						t.Errorf("%s is %q", name, h.Get(name))
					}
				}
			}
		})
	}
}

// until waits for the first moment.
func until(t *testing.T, port int) {
	t.Helper()
	for range 3000 {
		if got, _, _ := say(t, port, fmt.Sprintf("GET /api/moment HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", port, testToken)); got == 200 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("there is no moment")
}

// streamed opens a stream; its reader gives what is sent.
func streamed(t *testing.T, port int) (net.Conn, *bufio.Reader, int) {
	t.Helper()
	c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n\r\n", port, testToken)
	in := bufio.NewReader(c)
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		return c, in, 0
	}
	return c, bufio.NewReader(r.Body), r.StatusCode
}

func TestAStream(t *testing.T) {
	t.Parallel()
	port := serving(t)
	_, in, code := streamed(t, port)
	if code != 200 {
		t.Fatalf("status %d", code)
	}
	var times []time.Time
	for len(times) < 3 {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		text, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var b view.Board
		if err := json.Unmarshal([]byte(text), &b); err != nil || len(b.Servers) != 3 {
			t.Fatalf("%v: %.200s", err, text)
		}
		times = append(times, b.At)
	}
	if !times[1].After(times[0]) || !times[2].After(times[1]) {
		t.Errorf("moments of %v", times)
	}
}

// TestSoManyLook: who comes too many is told so; when one goes there is room.
func TestSoManyLook(t *testing.T) {
	t.Parallel()
	port := serving(t)
	var first net.Conn
	for i := range web.MostStreams {
		c, _, code := streamed(t, port)
		if code != 200 {
			t.Fatalf("stream %d: status %d", i, code)
		}
		if first == nil {
			first = c
		}
	}
	if _, _, code := streamed(t, port); code != http.StatusServiceUnavailable {
		t.Fatalf("one too many: status %d", code)
	}
	first.Close()
	for range 300 {
		c, _, code := streamed(t, port)
		if code == 200 {
			return
		}
		c.Close()
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("there is no room though one has gone")
}

// TestManyConnectionsThatSaySlowly: connections without end, each a byte at a
// time, are dropped, and the page is there again for others.
func TestManyConnectionsThatSaySlowly(t *testing.T) {
	t.Parallel()
	port := serving(t)
	var all sync.WaitGroup
	stop := time.Now().Add(30 * time.Second)
	for range 3 * mostConnections {
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all.Go(func() {
			c.SetReadDeadline(stop)
			for time.Now().Before(stop) { // until it is dropped
				if _, err := io.WriteString(c, "G"); err != nil {
					return
				}
				time.Sleep(500 * time.Millisecond)
			}
			t.Error("a slow client is kept")
		})
	}
	all.Wait()
	until(t, port)
}

// TestNobodyKeepsAConnection: those who were answered could hold all there are.
func TestNobodyKeepsAConnection(t *testing.T) {
	t.Parallel()
	port := serving(t)
	c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port)
	if text, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 200") {
		t.Errorf("after the answer: %v; %.40s", err, text)
	}
}

// TestAClientThatDoesNotRead holds nobody up.
func TestAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	port := serving(t)
	for range web.MostStreams - 1 {
		streamed(t, port) // and nothing is read of it
	}
	_, in, code := streamed(t, port)
	if code != 200 {
		t.Fatalf("status %d", code)
	}
	for seen := 0; seen < 20; {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "data: ") {
			seen++
		}
	}
}

func TestOnlyThisMachineIsListenedOn(t *testing.T) {
	listeners, _, err := listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(listeners)
	for _, l := range listeners {
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("it listens on %s", ip)
		}
	}
}

func TestTheTokenIsKeptForItsOwner(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "token")
	if kept, err := keepToken(name, "secret"); err != nil || kept != name {
		t.Fatal(kept, err)
	}
	if st, err := os.Stat(name); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", st.Mode(), err)
	}
	other := filepath.Join(dir, "other")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	for _, taken := range []string{name, link} {
		if _, err := keepToken(taken, "secret"); err == nil {
			t.Errorf("%s was written to", taken)
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a link was followed")
	}
	if os.Geteuid() == 0 { // whoever can rename the directory has root remove a file of that name elsewhere
		theirs := filepath.Join(dir, "theirs")
		if err := errors.Join(os.Mkdir(theirs, 0o755), os.Lchown(theirs, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		if _, err := keepToken(filepath.Join(theirs, "token"), "secret"); !errors.Is(err, host.ErrDenied) {
			t.Errorf("in another user's directory: %v", err)
		}
	}
}

func TestServeEndsWithItsFeed(t *testing.T) {
	listeners, _, err := listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	why := fmt.Errorf("read /proc/stat: permission denied")
	if got := serve(t.Context(), web.New("x"), listeners, feed.Windows(&shell.Shell{}), false, func(context.Context, watch.Sink) error { return why }); got != why {
		t.Errorf("it ended with %v", got)
	}
}

// A port that somebody else has on ::1 is not served: to whoever asks for localhost his page would be ours.
func TestPortThatSomebodyHasOnIPv6(t *testing.T) {
	theirs, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("there is no IPv6: ", err)
	}
	defer theirs.Close()
	port := theirs.Addr().(*net.TCPAddr).Port
	all, _, err := listen(t.Context(), port)
	closeAll(all)
	if err == nil || !strings.Contains(hint.Of(err), "--port") {
		t.Errorf("%v, with the hint %q", err, hint.Of(err))
	}
	again, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		t.Fatalf("it keeps half of the port: %v", err)
	}
	again.Close()
}
