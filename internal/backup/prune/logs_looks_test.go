package prune

import (
	"context"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/protect/keep"
)

// looks counts how often all backups are looked at.
type looks struct {
	store.Store
	n int
}

func (l *looks) List(ctx context.Context, prefix string, each func(store.Info) error) error {
	if prefix == manifest.Prefix {
		l.n++
	}
	return l.Store.List(ctx, prefix, each)
}

// The backups are looked at once more for each of the steps of pruning logs, and not for one that has nothing to do.
func TestLogsLooks(t *testing.T) {
	l := newLogged(t)
	c := &looks{Store: l.Store}
	l.Store = c
	prune := func(what string, want int) {
		t.Helper()
		shown := l.plan(t)
		c.n = 0
		_, err := l.Carry(t.Context(), shown, Options{Rules: keep.Rules{Last: 100}})
		if must(t, err); c.n != want {
			t.Errorf("%s: looked %d times", what, c.n)
		}
		l.pass(80 * time.Hour)
	}
	l.run(t, l.pg(1, 3))
	prune("no log", 2)
	l.keep(t, archive.Piece{Server: "other", Series: "what", File: "ever", To: 3})
	prune("of no product", 2)
	l.keep(t, ofWAL("00000002.history", 40))
	l.wal(t, 1, 1, 2, 3)
	prune("marked", 3)
	prune("removed", 4)
	equal(t, "there", l.pieces(t), []string{"ever", "1-3", "00000002.history"})
	prune("all is gone", 3)
}
