package outlet

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// guard decides who is answered.
type guard struct {
	token string // "" for everybody
	here  bool   // only this machine can reach the listener
	name  string // by which it was told to listen, such as localhost or db1
}

// before puts the guard before what answers.
func (g guard) before(metrics http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case g.here && !g.named(r.Host):
			// A page of a stranger, whose name now leads to this machine: its
			// script would read what it is shown.
			http.Error(w, "this is not an address of the machine itself", http.StatusMisdirectedRequest)
		case !g.lets(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="plumb"`)
			http.Error(w, "who asks is not known: send the token", http.StatusUnauthorized)
		case r.URL.Path != "/metrics":
			http.Error(w, "there is only /metrics", http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "metrics can only be read", http.StatusMethodNotAllowed)
		default:
			metrics.ServeHTTP(w, r)
		}
	})
}

// lets compares the token in a time that tells nothing of it.
func (g guard) lets(r *http.Request) bool {
	if g.token == "" {
		return true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && ok
}

// named tells whether a Host header names this machine by itself, or by the name
// that its owner gave.
func (g guard) named(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || g.name != "" && strings.EqualFold(host, g.name) || ip != nil && ip.IsLoopback()
}
