package outlet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"plumb/internal/await"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
)

// Limits of the queue.
const (
	mostWaiting  = 240      // requests: an hour, every 15 s
	mostBytes    = 16 << 20 // of all requests
	sendTime     = 30 * time.Second
	firstBackoff = time.Second
	lastBackoff  = time.Minute
)

// Target is where remote write goes, and the secrets for it.
type Target struct {
	URL       string
	Flag      string // that named it, for messages; "" for --remote-write
	Token     string // file with a bearer token; "" for none
	Login     string // file with user:password; "" for none
	CA        string // file of authorities that are trusted instead of the system's; "" for the system's
	Cert, Key string // files of a client certificate; "" for none
	Second    bool   // remote write 2.0, as long as the receiver takes it
}

// Request is what is sent. It can make its body for remote write 2.0 and for 1.0.
type Request interface {
	Body(second bool) []byte
	Len() int // bytes of memory that it takes while it waits
}

// Push sends remote write requests in order, and each again until it is
// accepted. If too many wait, the oldest are dropped and counted.
type Push struct {
	url, shown, authorization, agent string // shown: the URL without what may be secret
	client                           *http.Client
	changed                          func(error) // is called when sending begins to fail, and with nil when it works again
	second                           bool        // what is sent is of remote write 2.0; only Run's goroutine uses it

	mu      sync.Mutex
	waiting []request
	added   int // number of all requests so far
	sending int // number of the request that is being sent
	bytes   int
	counts  Counts
	more    chan struct{}
	pause   func(ctx context.Context, d time.Duration) error
}

type request struct {
	Request
	number  int
	samples int
}

// Counts says what became of samples.
type Counts struct {
	Sent, Dropped, Refused float64 // samples
	Retries                float64 // how often a request was sent again
	Waiting                int     // requests
}

// NewPush makes a Push for a target. It is an error if the target or its files are not usable.
func NewPush(t Target, agent string, changed func(error)) (*Push, error) {
	flag := cmp.Or(t.Flag, "--remote-write")
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, hint.Usage(flag+" is not an http or https URL", "such as "+t.either("https://metrics.example:8428/api/v1/write", "http://127.0.0.1:9931/metrics"))
	}
	if u.User != nil {
		return nil, hint.Usage(flag+" contains a login, which every user of this machine can read on the command line",
			t.either("--remote-login FILE, with user:password in its first line", "--token FILE, with a token in its first line"))
	}
	p := &Push{url: t.URL, shown: u.Scheme + "://" + u.Host + u.Path, agent: agent, changed: changed, second: t.Second, more: make(chan struct{}, 1), pause: await.Pause}
	if p.authorization, err = t.authorization(); err != nil {
		return nil, err
	}
	here, _ := loopback(u.Hostname())
	if p.authorization != "" && u.Scheme == "http" && !here {
		return nil, hint.Usage(flag+" would send a secret over http, which others can read", "use an https URL")
	}
	config, err := t.tls()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.MaxIdleConns, transport.MaxResponseHeaderBytes = config, 1, 64<<10
	if p.authorization != "" && u.Scheme == "http" { // what a proxy or another address of the name would be told, others could read
		transport.Proxy, transport.DialContext = nil, dialHere
	}
	// A redirection could send the secret elsewhere.
	p.client = &http.Client{Transport: transport, Timeout: sendTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return p, nil
}

// dialHere connects to addresses of this machine only.
func dialHere(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := onlyHere(c.RemoteAddr()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func onlyHere(to net.Addr) error {
	if at, ok := to.(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return fmt.Errorf("%s is not on this machine, and a secret would be sent there over http", to)
	}
	return nil
}

// flag returns the name of a flag about the target.
func (t Target) flag(name string) string { return t.either("--remote-"+name, "--"+name) }

// either is what is said of remote write, or of a page that is read.
func (t Target) either(remote, page string) string {
	if t.Flag == "" {
		return remote
	}
	return page
}

func (t Target) authorization() (string, error) {
	switch {
	case t.Token != "" && t.Login != "":
		return "", hint.Usage(t.flag("token")+" and "+t.flag("login")+" are two ways to log in", "give one of them")
	case t.Token != "":
		token, err := secretOf(t.flag("token"), t.Token)
		return "Bearer " + token, err
	case t.Login != "":
		login, err := secretOf(t.flag("login"), t.Login)
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(login)), err
	}
	return "", nil
}

func (t Target) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if t.CA != "" {
		if c.RootCAs, err = shell.Authorities(t.flag("ca"), t.CA); err != nil {
			return nil, err
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := keyPair(t.Cert, t.Key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{*pair}
	}
	return c, nil
}

// Add puts a request at the end of the queue.
func (p *Push) Add(r Request, samples int) {
	p.mu.Lock()
	p.added++
	p.waiting = append(p.waiting, request{r, p.added, samples})
	p.bytes += r.Len()
	for len(p.waiting) > 1 && (len(p.waiting) > mostWaiting || p.bytes > mostBytes) {
		if p.waiting[0].number != p.sending { // nobody knows yet what becomes of that one, and a counter must not go down
			p.counts.Dropped += float64(p.waiting[0].samples)
		}
		p.shift()
	}
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// shift removes the oldest request. The caller holds the lock.
func (p *Push) shift() {
	p.bytes -= p.waiting[0].Len()
	p.waiting = append([]request(nil), p.waiting[1:]...)
}

// Counts says what became of the samples that were added.
func (p *Push) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.counts
	c.Waiting = len(p.waiting)
	return c
}

// Run sends until the context ends.
func (p *Push) Run(ctx context.Context) {
	backoff, changed := firstBackoff, OnChange(p.changed)
	for ctx.Err() == nil {
		next, ok := p.oldest()
		if !ok {
			select {
			case <-p.more:
			case <-ctx.Done():
			}
			continue
		}
		a := p.send(ctx, next)
		if ctx.Err() != nil {
			return
		}
		if p.second && a.older() {
			p.second = false
			p.changed(fmt.Errorf("%s does not accept remote write 2.0; sending 1.0", p.shown))
			continue
		}
		changed(a.err)
		p.note(next, a)
		if !a.again {
			backoff = firstBackoff
			continue
		}
		// A random wait, so that many agents which lost the same receiver do not all come back at once.
		_ = p.pause(ctx, max(a.wait, backoff/2+rand.N(backoff)))
		backoff = min(2*backoff, lastBackoff)
	}
}

// OnChange wraps tell, for something that is done again and again, so that it is called only
// when that begins to fail, and with nil when it works again.
func OnChange(tell func(error)) func(error) {
	failing := false
	return func(err error) {
		if failing != (err != nil) {
			failing = err != nil
			tell(err)
		}
	}
}

func (p *Push) oldest() (request, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return request{}, false
	}
	p.sending = p.waiting[0].number
	return p.waiting[0], true
}

// note counts what became of a request, and removes it unless it is to be sent
// again. The request may have been dropped meanwhile.
func (p *Push) note(r request, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waits := len(p.waiting) > 0 && p.waiting[0].number == r.number
	p.sending = 0
	if a.again {
		p.counts.Retries++
		if !waits {
			p.counts.Dropped += float64(r.samples)
		}
		return
	}
	if waits {
		p.shift()
	}
	sent := r.samples
	if a.err != nil {
		sent = min(a.written, r.samples)
	}
	p.counts.Sent += float64(sent)
	p.counts.Refused += float64(r.samples - sent)
}

// answer is what the receiver says to a request: whether to try again, and after
// what time.
type answer struct {
	code    int  // 0: there was none
	counted bool // it says how much it wrote, as every receiver of remote write 2.0 must
	written int  // samples, as far as it says
	wait    time.Duration
	again   bool
	err     error
}

// older tells whether a remote write 2.0 request was sent to a receiver that knows
// only 1.0. Many of those take it for an empty request of 1.0 and report success, which
// the specification says how to detect.
func (a answer) older() bool {
	return !a.counted && (a.code/100 == 2 || a.code == http.StatusUnsupportedMediaType || a.code == http.StatusBadRequest)
}

// Names of the headers with which a receiver of remote write 2.0 says how much it wrote.
const writtenHeader = "X-Prometheus-Remote-Write-%s-Written"

// kindOf returns the headers that say which message is sent.
func kindOf(second bool) (content, version string) {
	if second {
		return "application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0"
	}
	return "application/x-protobuf", "0.1.0"
}

// send sends one request.
func (p *Push) send(ctx context.Context, r Request) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(r.Body(p.second)))
	if err != nil {
		return answer{err: err}
	}
	content, version := kindOf(p.second)
	for name, value := range map[string]string{"Content-Type": content, "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": version,
		"User-Agent": p.agent, "Authorization": p.authorization} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return answer{again: true, err: fmt.Errorf("send to %s: %w", p.shown, err)}
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
	resp.Body.Close()
	a := answer{code: resp.StatusCode}
	for _, what := range []string{"Samples", "Histograms", "Exemplars"} {
		a.counted = a.counted || resp.Header.Get(fmt.Sprintf(writtenHeader, what)) != ""
	}
	if a.code/100 == 2 {
		return a
	}
	if n, err := strconv.Atoi(resp.Header.Get(fmt.Sprintf(writtenHeader, "Samples"))); err == nil && p.second {
		a.written = max(0, n)
	}
	a.err = fmt.Errorf("send to %s: %s: %w", p.shown, resp.Status, errors.New(string(bytes.TrimSpace(text))))
	a.wait, a.again = retryAfter(resp.Header.Get("Retry-After")), !slices.Contains(unwanted, a.code)
	return a
}

// unwanted lists the status codes of requests that would be refused each time. After any
// other one, somebody may repair the receiver or the secret, so that nothing is lost.
var unwanted = []int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}

// retryAfter reads how many seconds a receiver wants to be left alone, at most
// the longest pause.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, int(lastBackoff/time.Second))) * time.Second
}
