package prune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// Log is what is to become of the archived log of a server.
type Log struct {
	Server string    `json:"server"`           // as the archive calls it
	Pruned string    `json:"pruned,omitempty"` // what lay before this place went before
	Since  time.Time `json:"since,omitzero"`   // it did
	Begins string    `json:"begins,omitempty"` // what lies before this place goes
	By     string    `json:"by,omitempty"`     // the backup that begins there: the first that stays
	Goes   Amount    `json:"goes"`             // now: a prune longer ago than the grace has marked it
	Then   Amount    `json:"then"`             // when the grace is over
	Stays  Amount    `json:"stays"`
	Why    string    `json:"why,omitempty"` // more does not go

	next archive.Place
}

// Amount is how much of a log is meant.
type Amount struct {
	Pieces int   `json:"pieces"`
	Bytes  int64 `json:"bytes"` // of the objects
}

// logOf is what a store has of the log of one server.
type logOf struct {
	server  string
	product archive.Product // nil for a log of none that is known
	stock   []*piece        // in the order of Shelf.List
	entries []archive.Piece // those that have an entry
	marked  bool            // there is a beginning
	begins  archive.Beginning
	tag     string
	bad     error // why the beginning is not acted on
}

// piece is what a store has of a piece.
type piece struct {
	archive.Piece
	place   archive.Place
	entry   *store.Info
	objects []store.Info // the others
}

func (k *piece) newest() (at time.Time) {
	for _, i := range k.all() {
		if i.Modified.After(at) {
			at = i.Modified
		}
	}
	return at
}

func (k *piece) all() []store.Info {
	if k.entry == nil {
		return k.objects
	}
	return append([]store.Info{*k.entry}, k.objects...)
}

func (a *Amount) add(k *piece) {
	a.Pieces++
	for _, i := range k.all() {
		a.Bytes += i.Size
	}
}

// logs reads what the store has of archives.
func (p Pruner) logs(ctx context.Context) ([]*logOf, error) {
	known := map[archive.Piece]*piece{}
	var all []archive.Piece
	err := p.Store.List(ctx, archive.Prefix, func(i store.Info) error {
		of, entry, is := archive.Object(i.Name)
		if !is {
			return ctx.Err() // somebody else's, or where a log begins
		}
		k := known[of]
		if k == nil {
			k = &piece{Piece: of}
			known[of], all = k, append(all, of)
		}
		if entry {
			k.entry = &i
		} else {
			k.objects = append(k.objects, i)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("look at the archive of %s: %w", p.Store.URL(), err)
	}
	slices.SortFunc(all, archive.Order)
	var logs []*logOf
	for _, pieces := range archive.Logs(all) {
		l := &logOf{server: pieces[0].Server}
		for _, of := range pieces {
			l.stock = append(l.stock, known[of])
			if known[of].entry != nil {
				l.entries = append(l.entries, of)
			}
		}
		l.placed(p.Products, pieces)
		if err := p.marking(ctx, l); err != nil {
			return nil, err
		}
		logs = append(logs, l)
	}
	return logs, nil
}

// placed finds the product whose log it is, and has it say where each piece is.
func (l *logOf) placed(products []archive.Product, pieces []archive.Piece) {
	for _, one := range products {
		places := one.Places(pieces)
		if !slices.ContainsFunc(places, func(at archive.Place) bool { return at.Key != "" }) {
			continue
		}
		l.product = one
		for i, k := range l.stock {
			k.place = places[i]
		}
		return
	}
}

// marking reads where a log begins. What another host has marked is left to that host.
func (p Pruner) marking(ctx context.Context, l *logOf) error {
	text, tag, err := p.Store.Get(ctx, archive.BeginningName(l.server), make([]byte, archive.MaxBeginning))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case errors.Is(err, store.ErrTooLarge):
		l.bad = err
		return nil
	case err != nil:
		return fmt.Errorf("read where the log of %s begins: %w", l.server, err)
	}
	l.marked, l.tag = true, tag
	if l.begins, l.bad = archive.OpenBeginning(text, l.server, p.Own...); errors.Is(l.bad, manifest.ErrStranger) {
		l.bad = fmt.Errorf("%.80q prunes it, so this host does not: %w", l.begins.By, l.bad)
	}
	return nil
}

// limit is up to where a log is of no use to any backup.
type limit struct {
	at    archive.Place   // the first place at which a backup begins
	by    string          // which one
	line  int             // the latest branch on which one begins
	in    []archive.Piece // that have the place of one, by their names
	there bool            // the archive has the place of one at least, as somebody signed it who is believed
	doubt string          // why what has such a place by its name is not believed
	since time.Time       // what was archived later stays: a backup of which it is not known where it begins may need it
	of    string          // which one
	last  string          // the key of the last place there is, which never goes
}

// day is how much earlier a backup's log may begin than the backup: at the checkpoint before it.
const day = 24 * time.Hour

// limit finds it among the backups that stay, and those that may come back or are being made.
func (p Pruner) limit(ctx context.Context, l *logOf, s survey, goes func(id string) bool) (lim limit, err error) {
	for _, k := range l.stock {
		lim.last = max(lim.last, k.place.Key)
	}
	for _, id := range s.ids {
		f := s.folders[id]
		m := f.m
		if m == nil && f.stone != nil && !f.stone.Going { // it can be taken back
			m = f.held
		}
		switch {
		case goes(id):
		case m != nil:
			lim.base(p.Products, l, *m, f)
		case f.head == nil && f.objects > 0 && !s.dead(f, p.Grace):
			lim.unknown(id, manifest.Made(id), f)
		}
	}
	// A name alone would let all go that lies before it: who may write to the store can give one.
	lim.there, lim.doubt, err = p.shelf().Believed(ctx, lim.in)
	return lim, err
}

// shelf is the archive in the same store, believed as the backups are.
func (p Pruner) shelf() archive.Shelf {
	return archive.Shelf{Store: p.Store, Trust: p.Trust, Retired: p.Retired}
}

// base has a limit regard a backup.
func (lim *limit) base(products []archive.Product, l *logOf, m manifest.Manifest, f *folder) {
	if l.product == nil || !l.product.Knows(m) {
		some := slices.ContainsFunc(products, func(one archive.Product) bool { return one.Knows(m) })
		if !some && slices.ContainsFunc(m.Streams, func(s manifest.Stream) bool { return s.Kind == manifest.Command }) {
			lim.unknown(m.ID, m.Taken(), f) // what a command gave may be a base that was packed
		}
		return
	}
	at, in, err := l.product.Begins(m, l.entries)
	switch {
	case err != nil:
		lim.unknown(m.ID, m.Taken(), f)
		return
	case at.Key == "":
		return // of another server
	}
	lim.in, lim.line = append(lim.in, in...), max(lim.line, at.Line)
	if lim.by == "" || at.Key < lim.at.Key {
		lim.at, lim.by = at, m.ID
	}
}

// unknown has a limit regard a backup of which nobody knows where it begins.
func (lim *limit) unknown(id string, began time.Time, f *folder) {
	if !f.oldest.IsZero() && f.oldest.Before(began) { // the host's clock was ahead
		began = f.oldest
	}
	if since := began.Add(-day); lim.of == "" || since.Before(lim.since) {
		lim.since, lim.of = since, id
	}
}

// lets tells whether no backup needs a piece.
func (lim limit) lets(k *piece) bool {
	return lim.there && k.place.Before(lim.at) && k.place.Key < lim.last && k.place.Line <= lim.line &&
		(lim.of == "" || k.newest().Before(lim.since))
}

// why says what keeps more from going.
func (l *logOf) why(lim limit) string {
	switch {
	case l.product == nil:
		return "it is of no product that Plumb knows"
	case l.bad != nil:
		return l.bad.Error()
	case lim.by == "":
		return "no backup that stays says that it begins in it"
	case !lim.there && lim.doubt != "":
		return "backup " + lim.by + " begins at " + lim.at.Text + " by the name of an object, which proves nothing: " + lim.doubt
	case !lim.there:
		return "backup " + lim.by + " begins at " + lim.at.Text + ", which is not in the archive, and no other that stays begins in it"
	case lim.of != "" && slices.ContainsFunc(l.stock, func(k *piece) bool {
		return k.place.Before(lim.at) && !k.newest().Before(lim.since)
	}):
		return "where backup " + lim.of + " begins is not known: what was archived since a day before it stays"
	}
	return ""
}

// judgeLogs decides about archives. going are the backups that a plan removes: what they alone need is marked with them.
func (p Pruner) judgeLogs(ctx context.Context, s survey, going []string) ([]Log, error) {
	all, err := p.logs(ctx)
	if err != nil {
		return nil, err
	}
	needed := s.needed(p.Grace)
	leaves := func(id string) bool { f := s.folders[id]; return f.stone != nil && f.own && needed[id] == "" }
	out := []Log{}
	for _, l := range all {
		now, err := p.limit(ctx, l, s, func(id string) bool { return leaves(id) && s.old(s.folders[id].head.Modified, p.Grace) })
		if err != nil {
			return nil, err
		}
		then, err := p.limit(ctx, l, s, func(id string) bool { return leaves(id) || slices.Contains(going, id) })
		if err != nil {
			return nil, err
		}
		out = append(out, p.judgeLog(l, s, now, then))
	}
	return out, nil
}

// judgeLog decides about one: now is what no backup needs that is left by this prune, then what none needs when those
// that go are gone.
func (p Pruner) judgeLog(l *logOf, s survey, now, then limit) Log {
	out := Log{Server: l.server, Pruned: l.begins.Gone.Text, Since: l.begins.Since, Why: l.why(then)}
	if then.there && l.bad == nil {
		out.Begins, out.By, out.next = then.at.Text, then.by, then.at
	}
	ripe := l.begins.Ripe(s.at, p.Grace)
	for _, k := range l.stock {
		switch {
		case l.bad == nil && p.over(k, s, ripe, now):
			out.Goes.add(k)
		case l.bad == nil && then.lets(k):
			out.Then.add(k)
		default:
			out.Stays.add(k)
		}
	}
	return out
}

// over tells whether a piece goes now: it was decided long ago that what lies before ripe does, and still no backup needs it.
func (p Pruner) over(k *piece, s survey, ripe archive.Place, now limit) bool {
	return k.place.Before(ripe) && now.lets(k) && s.old(k.newest(), p.Grace)
}
