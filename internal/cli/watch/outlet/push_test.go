package outlet

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/await"
)

// The receivers of these tests are fakes, which answer as badly as real ones can;
// test/watchmetrics sends to a real Prometheus and a real VictoriaMetrics.

// receiver answers with codes in turn, the last one for ever, and keeps what it was sent.
type receiver struct {
	mu     sync.Mutex
	codes  []int
	bodies []string
	heads  []http.Header

	older   bool // it knows remote write 1.0 alone, and
	refuses int  // answers this to 2.0
}

// text is a request that is the same in both versions, but that 2.0 is marked.
type text string

func (q text) Len() int { return len(q) }

func (q text) Body(second bool) []byte {
	if second {
		return []byte("2" + q)
	}
	return []byte(q)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	code := r.codes[0]
	if len(r.codes) > 1 {
		r.codes = r.codes[1:]
	}
	second := strings.Contains(q.Header.Get("Content-Type"), "v2")
	if second && r.older && code/100 == 2 {
		code = r.refuses
	} else if second {
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "3")
	}
	if code/100 == 2 && !(second && r.older) {
		r.bodies = append(r.bodies, string(body))
	}
	r.heads = append(r.heads, q.Header)
	w.Header().Set("Location", "http://192.0.2.1/")
	w.WriteHeader(code)
}

func (r *receiver) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.bodies, "")
}

// pushing starts a push to a receiver; its pauses take no time.
func pushing(t *testing.T, target Target, codes ...int) (*Push, *receiver, func() []string) {
	t.Helper()
	r := &receiver{codes: codes}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	var mu sync.Mutex
	var said []string
	target.URL = s.URL + "/api/v1/write"
	p, err := NewPush(target, "plumb/test", func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			said = append(said, "well")
		} else {
			said = append(said, err.Error())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	p.pause = func(ctx context.Context, _ time.Duration) error { return await.Pause(ctx, time.Millisecond) }
	return p, r, func() []string { mu.Lock(); defer mu.Unlock(); return said }
}

// run sends until nothing waits.
func run(t *testing.T, p *Push) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	for p.Counts().Waiting > 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
}

func TestSendsInOrderUntilTaken(t *testing.T) {
	p, r, said := pushing(t, Target{Token: write(t, "token", secret)}, 503, 429, 302, 401, 204)
	for _, body := range []string{"a", "b", "c"} {
		p.Add(text(body), 10)
	}
	run(t, p)
	if c := p.Counts(); r.got() != "abc" || c.Sent != 30 || c.Retries != 4 || c.Dropped+c.Refused != 0 {
		t.Errorf("it got %q; %+v", r.got(), c)
	}
	h := r.heads[0]
	if h.Get("Authorization") != "Bearer "+secret || h.Get("Content-Encoding") != "snappy" || h.Get("X-Prometheus-Remote-Write-Version") != "0.1.0" {
		t.Errorf("got %v", h)
	}
	if s := said(); len(s) != 2 || !strings.Contains(s[0], "503") || s[1] != "well" || strings.Contains(s[0], secret) {
		t.Errorf("it said %q", s)
	}
}

// What is refused for good is not sent for ever.
func TestRefusedForGood(t *testing.T) {
	p, r, _ := pushing(t, Target{}, 400, 204)
	p.Add(text("bad"), 1)
	p.Add(text("good"), 2)
	run(t, p)
	if c := p.Counts(); r.got() != "good" || c.Refused != 1 || c.Sent != 2 {
		t.Errorf("it got %q; %+v", r.got(), c)
	}
}

// A receiver that is gone costs so much memory and no more, and the oldest goes first.
func TestBoundedWhileNobodyTakes(t *testing.T) {
	p, r, _ := pushing(t, Target{}, 204)
	for i := range 3 * mostWaiting {
		p.Add(text([]byte{byte(i)}), 1)
	}
	if c := p.Counts(); c.Waiting != mostWaiting || c.Dropped != 2*mostWaiting {
		t.Errorf("got %+v", c)
	}
	for range 5 {
		p.Add(text(make([]byte, mostBytes/2)), 1)
	}
	if c := p.Counts(); c.Waiting != 2 || p.bytes > mostBytes {
		t.Errorf("%d bytes wait: %+v", p.bytes, c)
	}
	p.Add(text(make([]byte, 2*mostBytes)), 1)
	p.Add(text("new"), 1)
	run(t, p)
	if c := p.Counts(); r.got() != "new" || c.Sent+c.Dropped != 3*mostWaiting+7 {
		t.Errorf("it got %d bytes; %+v", len(r.got()), c)
	}
}

// TestASlowReceiver: one that takes a request and says nothing is asked again.
func TestASlowReceiver(t *testing.T) {
	ended, asked := make(chan struct{}), make(chan bool, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if asked <- true; len(asked) == 1 {
			<-ended
		}
	}))
	defer s.Close()
	defer close(ended)
	p, err := NewPush(Target{URL: s.URL}, "", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if p.client.Timeout != sendTime {
		t.Errorf("it waits for %s", p.client.Timeout)
	}
	p.client.Timeout, p.pause = 500*time.Millisecond, func(ctx context.Context, _ time.Duration) error { return await.Pause(ctx, time.Millisecond) }
	p.Add(text("a"), 3)
	run(t, p)
	if c := p.Counts(); c.Sent != 3 || c.Retries < 1 || c.Dropped+c.Refused != 0 {
		t.Errorf("got %+v", c)
	}
}

// TestASecretOverHTTPStaysHere: not through a proxy, and not where a name leads that led here before.
func TestASecretOverHTTPStaysHere(t *testing.T) {
	login := write(t, "login", "plumb:"+secret)
	for _, c := range []struct {
		target Target
		here   bool
	}{{Target{URL: "http://localhost/", Login: login}, true}, {Target{URL: "http://localhost/"}, false}, {Target{URL: "https://localhost/", Login: login}, false}} {
		p, err := NewPush(c.target, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if direct := p.client.Transport.(*http.Transport).Proxy == nil; direct != c.here {
			t.Errorf("%s: direct %v", c.target.URL, direct)
		}
	}
	for address, well := range map[string]bool{"127.0.0.1": true, "::1": true, "127.0.1.1": true, "192.0.2.1": false, "2001:db8::1": false, "": false} {
		if err := onlyHere(&net.TCPAddr{IP: net.ParseIP(address), Port: 80}); (err == nil) != well {
			t.Errorf("%q: %v", address, err)
		}
	}
	r := &receiver{codes: []int{204}}
	s := httptest.NewServer(r)
	defer s.Close()
	p, err := NewPush(Target{URL: s.URL, Login: login}, "", func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	p.Add(text("a"), 1)
	if run(t, p); r.got() != "a" {
		t.Errorf("a receiver of this machine got %q", r.got())
	}
}

// A
func TestTargetsThatAreRefused(t *testing.T) {
	login := write(t, "login", "plumb:"+secret)
	for name, target := range map[string]Target{
		"no URL":             {URL: "metrics.example"},
		"another scheme":     {URL: "file:///etc/passwd"},
		"a login in the URL": {URL: "https://plumb:" + secret + "@metrics.example/"},
		"a secret over http": {URL: "http://192.0.2.1/write", Login: login},
		"two logins":         {URL: "https://metrics.example/", Login: login, Token: login},
		"a key without":      {URL: "https://metrics.example/", Cert: login},
		"no authority":       {URL: "https://metrics.example/", CA: login},
	} {
		if _, err := NewPush(target, "", nil); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "-1": 0, "99999999": lastBackoff, "Wed, 21 Oct 2015 07:28:00 GMT": 0} {
		if got := retryAfter(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// A receiver of remote write 2.0 is sent that, and nothing else.
func TestSendsVersion2(t *testing.T) {
	p, r, said := pushing(t, Target{Second: true}, 503, 204)
	p.Add(text("a"), 1)
	p.Add(text("b"), 1)
	run(t, p)
	h := r.heads[len(r.heads)-1]
	if c := p.Counts(); r.got() != "2a2b" || c.Sent != 2 || c.Retries != 1 || len(said()) != 2 {
		t.Errorf("it got %q; %+v; it said %q", r.got(), c, said())
	}
	if h.Get("Content-Type") != "application/x-protobuf;proto=io.prometheus.write.v2.Request" || h.Get("X-Prometheus-Remote-Write-Version") != "2.0.0" {
		t.Errorf("got %v", h)
	}
}

// One that knows 1.0 alone is sent that instead, whatever it answers to 2.0, and
// nothing is lost: not what it took for an empty request, either.
func TestOlderReceiverIsSentVersion1(t *testing.T) {
	for _, answers := range []int{204, 400, 415} {
		p, r, said := pushing(t, Target{Second: true}, 204)
		r.older, r.refuses = true, answers
		p.Add(text("a"), 10)
		p.Add(text("b"), 10)
		run(t, p)
		if c := p.Counts(); r.got() != "ab" || c.Sent != 20 || c.Refused+c.Retries+c.Dropped != 0 {
			t.Errorf("%d: it got %q; %+v", answers, r.got(), c)
		}
		if s := said(); len(s) != 1 || !strings.Contains(s[0], "sending 1.0") || len(r.heads) != 3 {
			t.Errorf("%d: it said %q, and was asked %d times", answers, s, len(r.heads))
		}
	}
}

// What a receiver wrote of a request that it refused was not refused.
func TestWrittenInPart(t *testing.T) {
	p, _, _ := pushing(t, Target{Second: true}, 400, 204)
	p.Add(text("a"), 10)
	p.Add(text("b"), 10)
	run(t, p)
	if c := p.Counts(); c.Sent != 13 || c.Refused != 7 {
		t.Errorf("got %+v", c)
	}
}

// TestADiskThatStaysFullIsToldOnce, and not every 15 s.
func TestADiskThatStaysFullIsToldOnce(t *testing.T) {
	var told []error
	changed := OnChange(func(err error) { told = append(told, err) })
	for _, err := range []error{nil, io.EOF, io.EOF, io.ErrNoProgress, nil, nil, io.EOF} {
		changed(err)
	}
	if !slices.Equal(told, []error{io.EOF, nil, io.EOF}) {
		t.Errorf("told %v", told)
	}
}

// TestDroppedNeverFalls: of what is dropped while it is on its way it is known only
// then whether it was lost. A counter that falls is taken for one that began anew.
func TestDroppedNeverFalls(t *testing.T) {
	for again, dropped := range map[bool]float64{false: 1, true: 4} {
		p, _, _ := pushing(t, Target{}, 204)
		p.Add(text("first"), 3)
		first, _ := p.oldest()
		for range mostWaiting + 1 { // which drops the first, and one more
			p.Add(text("x"), 1)
		}
		if c := p.Counts(); c.Dropped != 1 {
			t.Errorf("on its way: %+v", c)
		}
		p.note(first, answer{again: again})
		if c := p.Counts(); c.Dropped != dropped || c.Sent != 4-dropped {
			t.Errorf("again %v: %+v", again, c)
		}
	}
}
