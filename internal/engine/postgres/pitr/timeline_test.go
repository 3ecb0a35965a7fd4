package pitr

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect/replay"
	"plumb/internal/store/dir"
)

// writing is a server that writes its log.
type writing struct {
	t     *testing.T
	k     *archive.Keeper
	shelf archive.Shelf
	prev  uint64 // where its last record is
}

func newWriting(t *testing.T) *writing {
	t.Helper()
	d, err := dir.Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	key, err := age.GenerateX25519Identity()
	must(t, err)
	private, public, err := note.GenerateKey(rand.Reader, "plumb-db1")
	must(t, err)
	sign, err := note.NewSigner(private)
	must(t, err)
	v, err := note.NewVerifier(public)
	must(t, err)
	return &writing{t: t, shelf: archive.Shelf{Store: d, Trust: []note.Verifier{v}, Keys: []age.Identity{key}},
		k: &archive.Keeper{Store: d, Sign: sign, Public: public, To: []age.Recipient{key.Recipient()}, Host: "db1", Now: time.Now}}
}

// segment makes one with a commit of each transaction; 0 ends it before it is full.
func (w *writing) segment(timeline uint32, number uint64, transactions ...uint32) []byte {
	b := head(7, timeline, number*size)
	o := binary.NativeEndian
	for _, xid := range transactions {
		r := make([]byte, 24)
		o.PutUint32(r[4:], xid)
		o.PutUint64(r[8:], w.prev)
		if r[16] = 0x40; xid != 0 {
			r[16], r[17] = 0, 1
			r = o.AppendUint64(append(r, 255, 8), uint64(xid)*1e6)
		}
		o.PutUint32(r, uint32(len(r)))
		castagnoli := crc32.MakeTable(crc32.Castagnoli)
		o.PutUint32(r[20:], crc32.Update(crc32.Update(0, castagnoli, r[24:]), castagnoli, r[:20]))
		w.prev = number*size + uint64(len(b))
		b = append(b, r...)
		b = append(b, make([]byte, -len(b)&7)...)
	}
	return append(b, make([]byte, size-len(b))...)
}

func (w *writing) archive(name string, text []byte) {
	w.t.Helper()
	p := archive.Piece{Server: Server(7), Series: Series, File: name, To: int64(len(text))}
	_, err := w.k.Keep(w.t.Context(), archive.Entry{Piece: p, Ends: true}, bytes.NewReader(text))
	must(w.t, err)
}

// begun archives the segments 2 and 3 of timeline 1, the second under its own name or another, and that timeline 2 begins where
// transaction 11 was whole, in the midst of 3. It gives that place, and what timeline 2 makes of 3.
func (w *writing) begun(ending string) (until uint64, next []byte) {
	w.archive(wal.Name(1, 2*size, size), w.segment(1, 2, 10, 0))
	before := w.prev
	w.archive(wal.Name(1, 3*size, size)+ending, w.segment(1, 3, 11, 12, 13))
	until = 3*size + 40 + 40
	w.archive("00000002.history", fmt.Appendf(nil, "1\t%s\tbefore 2026-11-26\n", wal.Text(until)))
	w.prev = before
	return until, w.segment(1, 3, 11, 21, 0)
}

func (w *writing) plan(end uint64) (moment.Way, error) { return w.planTo(end, "") }

func (w *writing) planTo(end uint64, lsn string) (moment.Way, error) {
	m := manifest.Manifest{ID: "20261127T120000Z-0a0b0c0d", Streams: make([]manifest.Stream, 1), Facts: map[string]string{factSystem: "7", factVersion: "15",
		factStart: wal.Text(2*size + 40), factEnd: wal.Text(end), factTimeline: "1"}}
	return Engine{}.Plan(w.t.Context(), w.shelf, m, moment.Asked{To: replay.Target{Text: "the end", LSN: lsn}})
}

// What a timeline has behind the place at which it was left is of another past: it is never replayed, also where the archive has
// nothing yet of the timeline that follows. What comes before that place is, be it from a segment that the server archived as partial.
func TestTimelineThatWasLeft(t *testing.T) {
	for _, ending := range []string{"", partial} {
		w := newWriting(t)
		until, next := w.begun(ending)
		way, err := w.plan(2*size + 80)
		if err != nil || way.Count != 2 || way.Last != wal.Text(3*size+40) || way.Files != 2 || len(way.Notes) != 1 || !strings.Contains(way.Notes[0], wal.Name(2, 3*size, size)) {
			t.Errorf("%q: %+v, %v", ending, way, err)
			continue
		}
		if way, err := w.planTo(2*size+80, wal.Text(until)); err != nil || way.Count != 2 {
			t.Errorf("%q: to where it was left: %+v, %v", ending, way, err)
		}
		if way, err := w.planTo(2*size+80, wal.Text(until+8)); err == nil || !strings.Contains(err.Error(), "the archive ends before") {
			t.Errorf("%q: behind it: %+v, %v", ending, way, err)
		}
		data := t.TempDir()
		must(t, way.Inner.(inner).fetch(t.Context(), hosttest.LiveDoer(t), w.shelf, moment.At{Data: data}))
		for _, name := range []string{wal.Name(1, 2*size, size), wal.Name(1, 3*size, size), "00000002.history"} {
			if _, err := os.Stat(filepath.Join(data, aside, name)); err != nil {
				t.Errorf("%q: %v", ending, err)
			}
		}
		w.archive(wal.Name(2, 4*size, size), w.segment(2, 4, 22))
		if way, err := w.plan(2*size + 80); err == nil || !strings.Contains(err.Error(), "there is a gap: "+wal.Name(2, 3*size, size)) {
			t.Errorf("%q: a later segment of the next timeline: %+v, %v", ending, way, err)
		}
		w.archive(wal.Name(2, 3*size, size), next)
		if way, err := w.plan(2*size + 80); err != nil || way.Count != 4 || len(way.Notes) > 0 {
			t.Errorf("%q: with all of the next timeline: %+v, %v", ending, way, err)
		}
		if way, err := w.plan(until + 8); err == nil || !strings.Contains(err.Error(), "timeline 2 does not branch off after the base backup") {
			t.Errorf("%q: a base that ends behind the place: %+v, %v", ending, way, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Who has stolen a key that was given up signs log with it, and says that it was before that. Behind a base that was made long since
// none of it is replayed, though the histories of that time are read.
func TestLogOfAStolenKey(t *testing.T) {
	w := newWriting(t)
	base := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC) // as planTo names it
	said := base.Add(time.Hour)
	w.k.Now = func() time.Time { return said }
	w.begun("")
	old := w.shelf.Trust[0]
	w.shelf.Trust, w.shelf.Retired = nil, []manifest.Retired{{Verifier: old, Until: base.Add(2 * time.Hour)}}
	way, err := w.plan(2*size + 80)
	if err != nil || way.Count != 2 {
		t.Fatalf("what the old key signed in its time: %+v, %v", way, err)
	}

	stolen := newWriting(t)
	said = base.Add(-7 * 24 * time.Hour)
	stolen.k.Now = w.k.Now
	stolen.begun("")
	old = stolen.shelf.Trust[0]
	stolen.shelf.Trust, stolen.shelf.Retired = nil, []manifest.Retired{{Verifier: old, Until: base.Add(-6 * 24 * time.Hour)}}
	if way, err := stolen.plan(2*size + 80); !errors.Is(err, archive.ErrUnbelieved) {
		t.Errorf("%+v, %v", way, err)
	}
	err = way.Inner.(inner).fetch(t.Context(), hosttest.LiveDoer(t), stolen.shelf, moment.At{Data: t.TempDir()}) // it was changed since it was planned
	if !errors.Is(err, archive.ErrUnbelieved) {
		t.Errorf("it is fetched: %v", err)
	}
}
