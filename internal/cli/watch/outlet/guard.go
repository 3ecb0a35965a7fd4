package outlet

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// guard decides which requests are answered.
type guard struct {
	token string // "" for everybody
	here  bool   // only this machine can reach the listener
	name  string // the name in the address to listen on, such as localhost or db1
}

// before returns a handler that passes on the requests the guard lets through.
func (g guard) before(metrics http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case g.here && !g.named(r.Host):
			// DNS rebinding: a stranger's page, whose host name now leads to this machine,
			// has a script that would read our answer.
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

// lets tells whether a request has the token. The time it takes reveals nothing about the token.
func (g guard) lets(r *http.Request) bool {
	if g.token == "" {
		return true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && ok
}

// named tells whether a Host header is an address of this machine, or the name
// in the address to listen on.
func (g guard) named(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || g.name != "" && strings.EqualFold(host, g.name) || ip != nil && ip.IsLoopback()
}
