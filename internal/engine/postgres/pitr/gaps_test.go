package pitr

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// A segment that is missing between two of its timeline is a gap until it comes, wherever the log began, and whatever somebody else put
// behind its end. A base of that server, and of no other, makes up for it.
func TestGapsInWAL(t *testing.T) {
	w := newWriting(t)
	k := w.k
	keep := func(file string) archive.Piece {
		t.Helper()
		w.archive(file, make([]byte, size))
		return archive.Piece{Server: Server(7), Series: Series, File: file, To: size}
	}
	var g Gaps
	names := func() (missing []string) {
		t.Helper()
		all, err := g.Breaks(t.Context(), k)
		must(t, err)
		for server, of := range all {
			for _, b := range of {
				if server != "postgres-7" || b.At.IsZero() || time.Since(b.At) > time.Minute {
					t.Errorf("%s: %+v", server, b)
				}
				missing = append(missing, b.Why[:24])
			}
		}
		return missing
	}
	at := func(n string) string { return "0000000100000000000000" + n }
	joins := func(want bool, file string) {
		t.Helper()
		if got := g.Joins(keep(file)); got != want {
			t.Errorf("%s joins on: %t", file, got)
		}
	}
	joins(false, at("05")) // of what was before nothing is known
	joins(true, at("06"))
	joins(true, at("05")) // once more
	joins(false, "000000020000000000000007")
	joins(true, at("07"))
	forged := archive.Piece{Server: "postgres-7", Series: Series, File: at("F0"), To: size}
	_, err := k.Store.Put(t.Context(), forged.Name(), []byte("trust me"), store.Put{})
	must(t, err)
	if got := names(); len(got) > 0 {
		t.Errorf("there are gaps: %q", got)
	}
	must(t, k.Store.Delete(t.Context(), forged.Name()))
	joins(false, at("0A"))
	hides := []archive.Piece{{Server: "postgres-7", Series: Series, File: at("09"), To: 5}, {Server: "postgres-7", Series: Series, File: at("09"), To: size}}
	for _, p := range hides { // before the next one that was signed
		_, err := k.Store.Put(t.Context(), p.Name(), []byte("trust me"), store.Put{})
		must(t, err)
	}
	if got := strings.Join(names(), " "); got != at("08") {
		t.Errorf("the gaps are %q", got)
	}
	for _, p := range hides {
		must(t, k.Store.Delete(t.Context(), p.Name()))
	}
	keep(at("08"))
	keep(at("09"))
	if got := names(); len(got) > 0 {
		t.Errorf("it came, and there are gaps: %q", got)
	}
	for _, c := range []struct {
		system string
		is     bool
	}{{"7", true}, {"8", false}, {"", false}} {
		if got := g.Base("postgres-7", manifest.Manifest{Facts: map[string]string{factSystem: c.system}}); got != c.is {
			t.Errorf("a base of %q: %t", c.system, got)
		}
	}
}
