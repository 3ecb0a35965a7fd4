package value

import (
	"testing"
	"time"

	"plumb/internal/stack"
)

func TestSysbenchValues(t *testing.T) {
	for text, want := range map[string]time.Duration{"10": 10 * time.Second, "0.5": 500 * time.Millisecond, "2m": 2 * time.Minute, "0": 0} {
		if got, err := ParseSeconds(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"16384": "16K", "2G": "2G", "1.5K": "1536", "0": "0", "3t": "3T"} {
		var s Size
		if err := s.Set(text); err != nil || s.String() != want {
			t.Errorf("%s: %s, %v", text, s.String(), err)
		}
	}
	for text, want := range map[string]Rate{"500": {500, 500}, "100..2000": {100, 2000}, "5/s": {5, 5}} {
		var r Rate
		if err := r.Set(text); err != nil || r != want {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
	var server Server
	if err := server.Set("mysql:3306"); err != nil || server != "mysql:3306" {
		t.Errorf("%q, %v", server, err)
	}
	for _, text := range []string{"", "mysql", "mysql:", "command:pg_dump", "nonsense:1"} {
		if err := server.Set(text); err == nil || server != "mysql:3306" {
			t.Errorf("%q is %q", text, server)
		}
	}
}

// TestServerMeant names servers as people do, and what is none.
func TestServerMeant(t *testing.T) {
	of := stack.Ref{Kind: "mysql", Name: "3306"}
	for word, want := range map[string]bool{"mysql:3306": true, "mariadb:3306": true, "MariaDB": true, "mysql": true, "mysql:3307": false, "postgres": false} {
		if KindOf(word) == "" || Server(word).Means(of) != want {
			t.Errorf("%s: %q", word, KindOf(word))
		}
	}
	for word, want := range map[string]string{"postgresql:5432": "postgres", "mongodb:27017": "mongo", "20261123T2105": "", "prod-db": "", "": "", "mysqlx:3306": ""} {
		if got := KindOf(word); got != want {
			t.Errorf("%s is of kind %q", word, got)
		}
	}
}

// FuzzLoadValues checks that no text of a flag panics or gives a value beyond
// its bounds.
func FuzzLoadValues(f *testing.F) {
	for _, text := range []string{"10", "2m", "16K", "100..2000", "1,4,16", "on", "NaN", "-1", "1e99"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseSeconds(text); err == nil && d < 0 {
			t.Errorf("%q is %v", text, d)
		}
		var s Size
		if err := s.Set(text); err == nil && s < 0 {
			t.Errorf("%q is %d bytes", text, int64(s))
		}
		var r Rate
		if err := r.Set(text); err == nil && !(r.From >= 0 && r.To >= 0) {
			t.Errorf("%q is %+v", text, r)
		}
		_ = new(Numbers).Set(text)
		_ = new(OnOff).Set(text)
	})
}
