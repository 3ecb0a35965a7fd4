package archive

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/await"
	"plumb/internal/backup/manifest"
)

// counting are gaps in a log whose files are called by letters.
type counting struct {
	mu    sync.Mutex
	last  byte
	looks int // that were begun
}

func (c *counting) Joins(p Piece) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.last
	c.last = p.File[0]
	return c.last == was+1
}

func (c *counting) Breaks(ctx context.Context, k *Keeper) (map[string][]Break, error) {
	c.mu.Lock()
	c.looks++
	c.mu.Unlock()
	shelf, err := k.Shelf()
	if err != nil {
		return nil, err
	}
	all, err := shelf.List(ctx, "")
	var found []Break
	for i, p := range all {
		if i > 0 && p.File[0] > all[i-1].File[0]+1 {
			e, err := shelf.Entry(ctx, p)
			if err != nil {
				return nil, err
			}
			found = append(found, Break{At: e.Kept, Why: "before " + p.File + " something is missing"})
		}
	}
	return map[string][]Break{"s": found}, err
}

func (*counting) Base(server string, m manifest.Manifest) bool { return m.Facts["of"] == server }

// What is missing in a log that is handed over is told while nobody restores yet, by the next service too, until a base begins behind it.
func TestGapIsTold(t *testing.T) {
	w := newWorld(t)
	until := func(s *served, want bool, why string) {
		t.Helper()
		err := await.Until(t.Context(), time.Minute, func() (bool, error) {
			return strings.Contains(s.trouble(t), "before d something is missing") == want, nil
		})
		if err != nil {
			t.Errorf("%s: %v\n%s", why, err, s.trouble(t))
		}
	}
	first := serveWith(t, w, time.Minute, new(counting))
	for _, file := range []string{"a", "b", "d"} {
		must(t, first.push(file, []byte("text")))
	}
	until(first, true, "c is missing")
	next := serveWith(t, w, time.Minute, new(counting))
	until(next, true, "the next service")
	must(t, next.push("c", []byte("text")))
	until(next, false, "it came")
	first.mu.Lock()
	defer first.mu.Unlock()
	if n := len(slices.DeleteFunc(slices.Clone(first.told), func(text string) bool { return !strings.Contains(text, "broke off: before d") })); n != 1 {
		t.Errorf("it was said %d times: %q", n, first.told)
	}
}

// A base of the server that begins behind a gap makes up for it; one of another does not.
func TestGapBehindABase(t *testing.T) {
	w := newWorld(t)
	k := w.Keeper
	for _, file := range []string{"a", "c"} {
		_, err := k.Keep(t.Context(), Entry{Piece: Piece{Server: "s", Series: "wal", File: file, To: 4}, Ends: true}, strings.NewReader("text"))
		must(t, err)
	}
	at := time.Now().Add(time.Minute)
	for _, c := range []struct {
		of   string
		want bool
	}{{"another", true}, {"s", false}} {
		w.backup(t, at, c.of)
		at = at.Add(time.Hour)
		gaps := new(counting)
		s := serveWith(t, w, time.Minute, gaps)
		looked := func(times int) {
			t.Helper()
			must(t, await.Until(t.Context(), time.Minute, func() (bool, error) {
				gaps.mu.Lock()
				defer gaps.mu.Unlock()
				return gaps.looks >= times, nil
			}))
		}
		looked(1)
		must(t, s.push("a", []byte("text"))) // it does not join on to anything
		looked(2)                            // so what came of the first look was told
		if got := s.trouble(t); strings.Contains(got, "before c something is missing") != c.want {
			t.Errorf("of %s: %q", c.of, got)
		}
	}
}
