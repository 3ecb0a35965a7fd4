// Package web shows in a browser what watch says, while it says it: a page, and
// a stream of boards for whoever has the token. It opens no port; who serves it
// gives it connections of this machine alone.
//
// The files of the page hold nothing of the host and are given to anybody who
// asks as a browser does. Everything else needs the token, in a header: an
// address is kept in histories and logs.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"plumb/internal/series"
	view "plumb/internal/view/watch"
)

//go:embed assets
var assets embed.FS

// files are all that can be asked for by name. A path is looked up, never opened.
var files = map[string]struct{ name, kind string }{
	"/":            {"index.html", "text/html; charset=utf-8"},
	"/page.js":     {"page.js", "text/javascript; charset=utf-8"},
	"/page.css":    {"page.css", "text/css; charset=utf-8"},
	"/uplot.js":    {"uplot.js", "text/javascript; charset=utf-8"},
	"/uplot.css":   {"uplot.css", "text/css; charset=utf-8"},
	"/icon.svg":    {"icon.svg", "image/svg+xml"},
	"/favicon.ico": {"icon.svg", "image/svg+xml"}, // for which some browsers ask whatever the page says
	"/LICENSE.txt": {"uplot.LICENSE", "text/plain; charset=utf-8"},
}

// The addresses that need the token.
const (
	momentPath = "/api/moment"
	streamPath = "/api/stream"
	planPath   = "/api/plan/" // and the key of a statement
)

// What a client may take of us.
const (
	MostStreams  = 16
	mostHeader   = 8 << 10
	readWithin   = 5 * time.Second  // a whole request
	writeWithin  = 10 * time.Second // an answer, or one moment of a stream
	heartbeat    = 10 * time.Second // so that a client that is gone is noticed
	mostLifetime = 12 * time.Hour   // of a stream; the page asks again
	mostAsks     = 2                // plans that are asked for at a time
)

// Server answers. Make it with [New].
type Server struct {
	token [sha256.Size]byte
	hosts []string

	mu      sync.Mutex
	latest  []byte // the newest board, encoded once for all
	streams map[chan []byte]bool
	done    chan struct{}
	ended   bool
	shown   []view.BoardStatement // those of the newest board
	plan    func(ctx context.Context, server, id string) series.Plan
	asks    chan struct{}
}

// New makes a server for who has the token. Hosts are the names and ports by
// which it is called, as a browser writes them: 127.0.0.1:7583.
func New(token string, hosts ...string) *Server {
	return &Server{token: sha256.Sum256([]byte(token)), hosts: hosts, streams: map[chan []byte]bool{}, done: make(chan struct{}), asks: make(chan struct{}, mostAsks)}
}

// HTTP is the server with its limits. A connection is for one request: those who keep one and ask nothing could hold
// all there are.
func (s *Server) HTTP() *http.Server {
	h := &http.Server{Handler: s, ReadHeaderTimeout: readWithin, ReadTimeout: readWithin, WriteTimeout: writeWithin,
		MaxHeaderBytes: mostHeader, ErrorLog: log.New(io.Discard, "", 0), DisableGeneralOptionsHandler: true}
	h.SetKeepAlivesEnabled(false)
	return h
}

// Show gives a board to all who look. It waits for nobody: a client that is slow
// gets the newest when it is ready.
func (s *Server) Show(b view.Board) error {
	text, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode a moment: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest, s.shown = text, b.Statements
	for box := range s.streams {
		select {
		case <-box:
		default:
		}
		box <- text
	}
	return nil
}

// Answer says who is asked for the plan of a statement. It is called before
// anything is served.
func (s *Server) Answer(plan func(ctx context.Context, server, id string) series.Plan) { s.plan = plan }

// End ends all streams. It may be called again.
func (s *Server) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		close(s.done)
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if code, why := s.refuse(r); code != 0 {
		if code == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodGet)
		}
		http.Error(w, why, code)
		return
	}
	if f, ok := files[r.URL.Path]; ok {
		s.file(w, r, f.name, f.kind)
		return
	}
	if !s.known(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the token is not right", http.StatusUnauthorized)
		return
	}
	switch key, isPlan := strings.CutPrefix(r.URL.Path, planPath); {
	case r.URL.Path == momentPath:
		s.moment(w)
	case r.URL.Path == streamPath:
		s.stream(w, r)
	case isPlan:
		s.explain(w, r, key)
	default:
		http.Error(w, "there is no such page", http.StatusNotFound)
	}
}

// protect says to the browser what this page may do: nothing but talk to us.
func protect(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Embedder-Policy": "require-corp",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
		"Cache-Control":                "no-store",
	} {
		h.Set(name, value)
	}
}

// refuse tells why a request is not answered; 0: it is. A page of another site
// can make a browser send requests here, by a name of its own that leads to
// this machine, too: both show in the headers.
func (s *Server) refuse(r *http.Request) (int, string) {
	switch {
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "only GET"
	case r.URL.Host != "" || r.URL.Scheme != "" || !strings.HasPrefix(r.RequestURI, "/"):
		return http.StatusBadRequest, "this is not a proxy"
	case !slices.Contains(s.hosts, r.Host):
		return http.StatusMisdirectedRequest, "this host is not served here"
	case r.URL.RawQuery != "" || r.URL.ForceQuery:
		return http.StatusBadRequest, "an address has no query here: a token goes into the header Authorization"
	case len(r.Header.Values("Origin")) > 1 || r.Header.Get("Origin") != "" && r.Header.Get("Origin") != "http://"+r.Host:
		return http.StatusForbidden, "asked from another site"
	case !slices.Contains([]string{"", "same-origin", "none"}, r.Header.Get("Sec-Fetch-Site")):
		return http.StatusForbidden, "asked from another site"
	case r.ContentLength != 0:
		return http.StatusBadRequest, "a request has no body here"
	}
	return 0, ""
}

// known compares hashes, which takes as long for every token.
func (s *Server) known(r *http.Request) bool {
	all := r.Header.Values("Authorization")
	if len(all) != 1 {
		return false
	}
	token, ok := strings.CutPrefix(all[0], "Bearer ")
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], s.token[:]) == 1 && ok
}

func (s *Server) file(w http.ResponseWriter, r *http.Request, name, kind string) {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

func (s *Server) moment(w http.ResponseWriter) {
	s.mu.Lock()
	text := s.latest
	s.mu.Unlock()
	if text == nil {
		http.Error(w, "nothing was seen yet", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that is gone needs no answer.
	_, _ = w.Write(text)
}

// explain gives the plan of a statement that is shown. Its key is looked up:
// nothing a client sends reaches a server.
func (s *Server) explain(w http.ResponseWriter, r *http.Request, key string) {
	s.mu.Lock()
	shown := s.shown
	s.mu.Unlock()
	i := slices.IndexFunc(shown, func(x view.BoardStatement) bool { return x.Key == key })
	if key == "" || i < 0 || s.plan == nil { // what has no plan has no key
		http.Error(w, "this statement is no longer shown", http.StatusNotFound)
		return
	}
	select {
	case s.asks <- struct{}{}:
		defer func() { <-s.asks }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "other plans are being asked for", http.StatusServiceUnavailable)
		return
	}
	text, err := json.Marshal(view.PlanLines(s.plan(r.Context(), shown[i].Server, shown[i].ID)))
	if err != nil {
		http.Error(w, "the plan cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a client that is gone needs no answer
}

// join adds a stream, if there is room for one.
func (s *Server) join() (box chan []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.streams) >= MostStreams {
		return nil, false
	}
	box = make(chan []byte, 1)
	if s.latest != nil {
		box <- s.latest
	}
	s.streams[box] = true
	return box, true
}

func (s *Server) leave(box chan []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, box)
}

// stream writes server-sent events until the client goes, is too slow, or the
// server ends.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	box, ok := s.join()
	if !ok {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d look already", MostStreams), http.StatusServiceUnavailable)
		return
	}
	defer s.leave(box)
	c := http.NewResponseController(w)
	if c.SetReadDeadline(time.Time{}) != nil { // a stream is longer than a request
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), mostLifetime)
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	send := func(parts ...[]byte) bool {
		if c.SetWriteDeadline(time.Now().Add(writeWithin)) != nil {
			return false
		}
		for _, p := range parts {
			if _, err := w.Write(p); err != nil {
				return false
			}
		}
		return c.Flush() == nil
	}
	for going := send([]byte(": plumb\n\n")); going; {
		select {
		case <-ctx.Done():
			return
		case <-s.done:
			return
		case text := <-box:
			going = send([]byte("data: "), text, []byte("\n\n"))
		case <-beat.C:
			going = send([]byte(": \n\n"))
		}
	}
}
