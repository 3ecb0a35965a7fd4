package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/units"
)

// LogDone is what came of a prune of the log of one server.
type LogDone struct {
	Server string `json:"server"`
	Marked string `json:"marked,omitempty"` // what lies before this place goes when the grace is over
	Gone   Amount `json:"gone"`
}

// pruneLogs prunes archives. It comes last: what the backups need that were removed just now is needed no more.
//
// Where a log begins is written before anything of it goes, and then all backups are looked at again, as with stones. So
// what is removed was marked longer ago than the grace, and neither before nor after it was written did any
// backup need it that is there, can be taken back or is being made.
func (w work) pruneLogs(ctx context.Context, s survey, shown Plan) error {
	all, err := w.logs(ctx)
	all = slices.DeleteFunc(all, func(l *logOf) bool { return l.product == nil || l.bad != nil })
	if err != nil || len(all) == 0 {
		return err
	}
	if s, err = w.again(ctx, s); err != nil {
		return err
	}
	var pruned []*logOf
	for _, l := range all {
		switch err := w.markLog(ctx, l, s, shown); {
		case err == nil && slices.ContainsFunc(l.stock, func(k *piece) bool { return k.place.Before(l.begins.Gone) }):
			pruned = append(pruned, l)
		case err != nil:
			if err = w.left(l.server, err); err != nil {
				return fmt.Errorf("log of %s: %w", l.server, err)
			}
		}
	}
	if len(pruned) == 0 {
		return nil // which spares another look
	}
	if s, err = w.again(ctx, s); err != nil {
		return err
	}
	for _, l := range pruned {
		if err := w.removeLog(ctx, l, s); err != nil {
			return fmt.Errorf("log of %s: %w", l.server, err)
		}
	}
	return nil
}

// again looks at the backups again, and stops at one that may need anything.
func (w work) again(ctx context.Context, s survey) (survey, error) {
	if err := w.lease.renew(ctx); err != nil {
		return s, err
	}
	s, err := w.look(ctx, s.at)
	if err == nil {
		err = s.doubt(w.Grace)
	}
	return s, err
}

// markLog writes down up to where a log goes now, and up to where it goes when the grace is over: no further than was
// shown.
func (w work) markLog(ctx context.Context, l *logOf, s survey, shown Plan) error {
	now, err := w.limit(ctx, l, s, func(string) bool { return false })
	if err != nil || !now.there {
		return err // what was marked stays marked
	}
	then, err := w.limit(ctx, l, s, func(id string) bool { return s.folders[id].stone != nil })
	if err != nil {
		return err
	}
	gone := l.begins.Ripe(s.at, w.Grace)
	if now.at.Key < gone.Key {
		gone = now.at
	}
	next := archive.Place{}
	if i := slices.IndexFunc(shown.Logs, func(one Log) bool { return one.Server == l.server }); i >= 0 && then.there {
		if next = shown.Logs[i].next; then.at.Key < next.Key {
			next = then.at
		}
	}
	if !slices.ContainsFunc(l.stock, func(k *piece) bool { return k.place.Before(next) && then.lets(k) }) {
		next = archive.Place{} // there is nothing to mark
	}
	b := l.begins.Then(gone, next, s.at, slack)
	if b.Gone == l.begins.Gone && slices.Equal(b.Next, l.begins.Next) {
		return nil
	}
	b.Server, b.By = l.server, w.Host
	text, err := archive.SignBeginning(b, w.Sign)
	if err != nil {
		return err
	}
	o := store.Put{New: true}
	if l.marked {
		o = store.Put{Was: l.tag}
	}
	if l.tag, err = store.Settle(ctx, w.Store, archive.BeginningName(l.server), text, o); err != nil {
		return err
	}
	if n := len(b.Next); n > 0 && !slices.Contains(l.begins.Next, b.Next[n-1]) {
		w.log(l.server).Marked = b.Next[n-1].Text
	}
	l.begins, l.marked = b, true
	return nil
}

// log gives what is said of a log in the end.
func (w work) log(server string) *LogDone {
	i := slices.IndexFunc(w.done.Logs, func(one LogDone) bool { return one.Server == server })
	if i < 0 {
		i, w.done.Logs = len(w.done.Logs), append(w.done.Logs, LogDone{Server: server})
	}
	return &w.done.Logs[i]
}

// removeLog removes what lies before the beginning of a log, the oldest first.
func (w work) removeLog(ctx context.Context, l *logOf, s survey) error {
	now, err := w.limit(ctx, l, s, func(string) bool { return false })
	if err != nil {
		return err
	}
	var going []*piece
	for _, k := range l.stock {
		if w.over(k, s, l.begins.Gone, now) {
			going = append(going, k)
		}
	}
	slices.SortStableFunc(going, func(a, b *piece) int { return cmp.Compare(a.place.Key, b.place.Key) })
	if len(going) == 0 {
		return nil
	}
	var mu sync.Mutex
	var kept []error // of the pieces that do not go
	feed := func(give func(*piece) error) error {
		for _, k := range going {
			if err := errors.Join(w.lease.renew(ctx), give(k)); err != nil {
				return err
			}
		}
		return nil
	}
	err = store.Together(ctx, workers, feed, func(ctx context.Context, k *piece) error {
		err := w.removePiece(ctx, k, s)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			w.log(l.server).Gone.add(k)
			for _, i := range k.all() {
				w.removed(i)
			}
		case bearable(err):
			kept = append(kept, fmt.Errorf("%s: %w", k.File, err))
		default:
			return err
		}
		return nil
	})
	if len(kept) > 0 {
		_ = w.left(l.server, fmt.Errorf("%s before %s: %w", staying(len(kept)), l.begins.Gone.Text, kept[0]))
	}
	return err
}

func staying(n int) string { return units.Counted(n, "piece", "stays", "stay") }

// errStrange is the error of what another host has signed, or nobody.
var errStrange = errors.New("it is not trusted")

// removePiece removes a piece, first its entry: without that it is no piece.
func (w work) removePiece(ctx context.Context, k *piece, s survey) error {
	if k.entry != nil {
		if err := w.ours(ctx, k.Piece); err != nil {
			return err
		}
	}
	all := k.all()
	for _, i := range all {
		if !w.locks.Can {
			break
		}
		if err := w.unlocked(ctx, i.Name, s.at); err != nil {
			return err
		}
	}
	for _, i := range all {
		if err := w.Store.Delete(ctx, i.Name); err != nil {
			return err
		}
	}
	return nil
}

// ours refuses a piece that neither this host nor one that is trusted has kept.
func (w work) ours(ctx context.Context, p archive.Piece) error {
	text, _, err := store.Read(ctx, w.Store, p.Name(), archive.MaxEntry)
	if errors.Is(err, store.ErrNotFound) {
		return nil // somebody was faster
	}
	if err != nil {
		return err
	}
	_, err = archive.Shelf{Trust: w.Own}.Open(text, p)
	if errors.Is(err, manifest.ErrStranger) {
		_, err = w.shelf().Open(text, p)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errStrange, err)
	}
	return nil
}
