package pitr

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/backup/store"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

// counted counts how often each object is read.
type counted struct {
	store.Store
	mu  sync.Mutex
	got map[string]int
}

func (c *counted) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	c.mu.Lock()
	c.got[name]++
	c.mu.Unlock()
	return c.Store.Get(ctx, name, into)
}

func baseAt(file string, offset int, ended time.Time) manifest.Manifest {
	return manifest.Manifest{ID: manifest.NewID(ended, "0a0b0c0d"), Began: ended.Add(-2 * time.Hour), Ended: ended, Streams: []manifest.Stream{{Kind: manifest.Command}},
		Facts: map[string]string{factVersion: "10.11.14-MariaDB", factFile: file, factAt: strconv.Itoa(offset)}}
}

// The log is read once to find the moment, and once to bring it; the file in which the base ends once more, to see how it begins.
func TestReadTwice(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001", "binlog.000002")
	first := [][]byte{begin(), change(1), change(2), rotate("binlog.000002")}
	l.write("binlog.000001", first...)
	l.write("binlog.000002", begin(), change(3))
	l.turns()
	c := &counted{Store: l.shelf.Store, got: map[string]int{}}
	l.shelf.Store = c
	offset := len(first[0]) + len(first[1])
	w, err := Engine{}.Plan(t.Context(), l.shelf, baseAt("binlog.000001", offset, time.Now()), moment.Asked{To: replay.Target{Text: "the end"}})
	if err != nil || w.Files != 2 {
		t.Fatalf("%+v, %v", w, err)
	}
	for _, file := range []string{"binlog.000001", "binlog.000002"} {
		if err := w.Inner.(inner).log.write(t.Context(), file, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	chunks := 0
	for name, n := range c.got {
		want := 2
		if strings.Contains(name, "/binlog.000001/") {
			want = 3
		}
		if strings.HasSuffix(name, ".zst.age") {
			if chunks++; n != want {
				t.Errorf("%s was read %d times", name, n)
			}
		}
	}
	if chunks != 2 {
		t.Errorf("%d objects were read", chunks)
	}
}

// gtid begins a transaction of several statements.
func gtid(n byte) []byte {
	return entry(binlog.GTIDMaria, born, 0, string([]byte{n, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}))
}

func listed(n byte) []byte {
	return entry(binlog.GTIDList, born, 0, string([]byte{1, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, n, 0, 0, 0, 0, 0, 0, 0}))
}

func commit() []byte { return entry(binlog.XID, born, 0, "\x01\x00\x00\x00\x00\x00\x00\x00") }

// What a server had written of a transaction when it died, which it rolled back later, is not replayed, and what it wrote after that is:
// whether the last of it is a statement or rows. One that the log goes on behind is a hole.
func TestDiedInATransaction(t *testing.T) {
	rows := entry(23, born, 0, "rows")
	for name, last := range map[string][]byte{"statement": change(2), "rows": rows, "nothing": nil} {
		l := newLog(t)
		l.files("binlog.000001", "binlog.000002")
		whole := bytes.Join([][]byte{begin(), gtid(1), change(1), commit()}, nil)
		l.write("binlog.000001", whole, gtid(2), last, change(3)[:9])
		l.write("binlog.000002", begin(), listed(1), gtid(2), change(4), commit())
		l.turns()
		w, err := Engine{}.Plan(t.Context(), l.shelf, baseAt("binlog.000001", len(begin()), time.Now()), moment.Asked{To: replay.Target{Text: "the end"}})
		if err != nil || w.Count != 2 || w.Files != 2 || len(w.Notes) != 1 {
			t.Errorf("%s: %+v, %v", name, w, err)
			continue
		}
		in := w.Inner.(inner)
		var text bytes.Buffer
		if err := in.log.write(t.Context(), "binlog.000001", &upTo{&text, in.way.Cut["binlog.000001"]}); err != nil || text.Len() != len(whole) {
			t.Errorf("%s: %d bytes are replayed of the first file, and %d are of whole transactions; %v", name, text.Len(), len(whole), err)
		}
	}
	l := newLog(t)
	l.files("binlog.000001", "binlog.000002")
	l.write("binlog.000001", begin(), gtid(1), change(1), commit(), gtid(2), rows)
	l.write("binlog.000002", begin(), listed(2), gtid(3), change(4), commit())
	l.turns()
	if w, err := (Engine{}).Plan(t.Context(), l.shelf, baseAt("binlog.000001", len(begin()), time.Now()), moment.Asked{To: replay.Target{Text: "the end"}}); err == nil || !strings.Contains(err.Error(), "gap") {
		t.Errorf("the end of a transaction is missing: %+v, %v", w, err)
	}
}

// A file in which a server has nothing, because its disk was full or it died when it had made it, is no hole, and is not replayed.
func TestNothingInAFile(t *testing.T) {
	for name, blank := range map[string][]byte{"empty": nil, "cut": begin()[:20], "head": begin()[:4]} {
		l := newLog(t)
		l.files("binlog.000001", "binlog.000002", "binlog.000003")
		l.write("binlog.000001", begin(), gtid(1), change(1), commit(), rotate("binlog.000002"))
		l.write("binlog.000002", blank)
		l.write("binlog.000003", begin(), listed(1), gtid(2), change(4), commit())
		if why := l.turns(); why != "" {
			t.Errorf("%s: %s", name, why)
		}
		w, err := Engine{}.Plan(t.Context(), l.shelf, baseAt("binlog.000001", len(begin()), time.Now()), moment.Asked{To: replay.Target{Text: "the end"}})
		if err != nil || w.Count != 2 || w.Files != 2 || !strings.HasPrefix(w.Last, "binlog.000003:") {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		l.files("binlog.000001", "binlog.000002", "binlog.000003", "binlog.000004")
		l.write("binlog.000004", blank)
		l.anew()
		if why := l.turns(); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
}

// A series that has the base's file and is of another log is passed over, whichever is tried first; and a base that fits none is refused.
func TestJoins(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001")
	l.write("binlog.000001", begin(), change(1), change(2))
	l.turns()
	between := time.Now()
	other := entry(2, born, 0, strings.Repeat("\x00", 8)+"\x04\x00\x00\x00\x00shop\x00"+"another statement, and a longer one")
	l.write("binlog.000001", begin(), other, change(3))
	if l.turns() == "" {
		t.Fatal("it goes on")
	}
	all, err := l.shelf.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	logs := bySeries(all)
	if len(logs) != 2 {
		t.Fatalf("%d series", len(logs))
	}
	for i, offset := range []int{len(begin()) + len(change(1)), len(begin()) + len(other)} {
		for _, ended := range []time.Time{between, time.Now().Add(time.Hour)} {
			w, err := Engine{}.Plan(t.Context(), l.shelf, baseAt("binlog.000001", offset, ended), moment.Asked{To: replay.Target{Text: "the end"}})
			if err != nil || w.Inner.(inner).log.series != logs[i][0].Series {
				t.Errorf("series %d at %s: %+v, %v", i, ended, w, err)
			}
		}
	}
	for what, b := range map[string]manifest.Manifest{"amid an event": baseAt("binlog.000001", len(begin())+7, between), "behind the end": baseAt("binlog.000001", 1<<20, between), "another file": baseAt("binlog.000009", 4, between)} {
		if w, err := (Engine{}).Plan(t.Context(), l.shelf, b, moment.Asked{To: replay.Target{Text: "the end"}}); err == nil || !strings.Contains(err.Error(), "there is a gap: no log in the archive continues at") {
			t.Errorf("%s: %+v, %v", what, w, err)
		}
	}
	// The second series alone is left: what the base of the first needs was pruned.
	b := archive.Beginning{Server: "mysql", By: "db1", Gone: archive.Place{Key: logs[1][0].Series, Text: "binlog.000004"}, Since: between}
	text, err := archive.SignBeginning(b, l.k.Sign)
	if err == nil {
		_, err = l.shelf.Store.Put(t.Context(), archive.BeginningName("mysql"), text, store.Put{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Engine{}).Plan(t.Context(), l.shelf, baseAt("binlog.000009", 4, between), moment.Asked{To: replay.Target{Text: "the end"}}); err == nil || !strings.Contains(err.Error(), "what lay before binlog.000004 in the log of mysql was pruned") {
		t.Error(err)
	}
}

// A log that has the name of the point's file and not its place is another one, also where nobody knows a GTID: a server's own after
// RESET MASTER.
func TestPlaceThatIsNotInTheLog(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001", "binlog.000002")
	l.write("binlog.000001", begin(), change(1), rotate("binlog.000002"))
	l.write("binlog.000002", begin(), gtid(2), change(2), commit())
	l.turns()
	all, err := l.shelf.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	log := newShelfLog(l.shelf, bySeries(all)[0], base{})
	sv := mariaDB("10.11.14")
	sv.Settings = map[string]string{"log_bin_basename": shelfDir + "/log", "log_bin_index": shelfIndex}
	to := replay.Target{Text: "the end", Time: time.Now().Add(time.Hour)}
	first := len(begin()) + len(change(1))
	for offset, want := range map[int]string{first: "", first + len(rotate("binlog.000002")): "", first + 1: "amid an event", 1 << 20: "it ends at"} {
		w, err := point.Seek(t.Context(), log, sv, replay.Start{Position: protect.Position{File: "binlog.000001", Offset: int64(offset)}}, to)
		switch {
		case want == "" && (err != nil || w.Count != 1):
			t.Errorf("at %d: %+v, %v", offset, w, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == ""):
			t.Errorf("at %d: %+v, %v", offset, w, err)
		}
	}
}

// Where a log was reset, a base from before leads to its end and no further, and that is said: what was written later is in the archive
// too.
func TestLogBrokeOff(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001")
	head := bytes.Join([][]byte{begin(), listed(1)}, nil)
	l.write("binlog.000001", head, gtid(2), change(1), commit())
	l.turns()
	first := baseAt("binlog.000001", len(head), time.Now())
	first.Facts[factGTID] = "3-7-1"
	latest := moment.Asked{To: replay.Target{Text: "the end"}}
	if w, err := (Engine{}).Plan(t.Context(), l.shelf, first, latest); err != nil || w.Count != 1 || len(w.Notes) > 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	l.write("binlog.000001", begin(), gtid(1), change(20), commit(), gtid(2), change(3), commit())
	if l.turns() == "" {
		t.Fatal("it goes on")
	}
	w, err := Engine{}.Plan(t.Context(), l.shelf, first, latest)
	if err != nil || w.Count != 1 || len(w.Notes) != 1 || !strings.Contains(w.Notes[0], "the log broke off after binlog.000001:") {
		t.Errorf("%+v, %v", w, err)
	}
	file, offset, _ := strings.Cut(w.Last, ":") // as the note tells it, and no further
	end := replay.Target{Text: w.Last, File: file}
	if end.Offset, err = strconv.ParseInt(offset, 10, 64); err != nil {
		t.Fatal(err)
	}
	if w, err := (Engine{}).Plan(t.Context(), l.shelf, first, moment.Asked{To: end}); err != nil || w.Count != 1 {
		t.Errorf("to its very end: %+v, %v", w, err)
	}
}

// A server that was set back to where a base ends, or before, goes on with another log from there: that is the one that leads on, and
// what it had written before is reached by naming a moment of that time.
func TestSetBack(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001")
	head := bytes.Join([][]byte{begin(), listed(1)}, nil)
	l.write("binlog.000001", head, gtid(2), change(1), commit(), gtid(3), change(2), commit())
	l.turns()
	l.write("binlog.000001", head, gtid(2), change(300), commit())
	if l.turns() == "" {
		t.Fatal("it goes on")
	}
	base := baseAt("binlog.000001", len(head), time.Now())
	base.Facts[factGTID] = "3-7-1"
	all, err := l.shelf.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	logs := bySeries(all)
	for to, want := range map[replay.Target]int{{Text: "the end"}: 1, {Text: "3-7-3", GTID: "3-7-3"}: 0} {
		w, err := Engine{}.Plan(t.Context(), l.shelf, base, moment.Asked{To: to})
		if err != nil || w.Count != 1 || len(w.Notes) > 0 || w.Inner.(inner).log.series != logs[want][0].Series {
			t.Errorf("%s: %+v, %v", to.Text, w, err)
		}
	}
}

func TestPlaces(t *testing.T) {
	of := func(series, file string) archive.Piece {
		return archive.Piece{Server: "mysql", Series: series, File: file, To: 7}
	}
	const one, two = "20261126T000000Z-0123abcd", "20261127T000000Z-0123abcd"
	all := []archive.Piece{of(one, "log.999998"), of(one, "log.999999"), of(one, "log.1000000"), of(two, "log.000001"), of(two, "log.999999"), of("wal", "log.000001")}
	places := Engine{}.Places(all)
	for i := range 4 {
		if places[i].Key >= places[i+1].Key {
			t.Errorf("%+v is not before %+v", places[i], places[i+1])
		}
	}
	if places[5].Key != "" {
		t.Errorf("%+v", places[5])
	}
	if at, in, err := (Engine{}).Begins(baseAt("log.999999", 4, born), all); err != nil || !slices.Equal(in, []archive.Piece{all[1], all[4]}) || at != places[1] {
		t.Errorf("%+v, %+v, %v", at, in, err)
	}
	if at, in, err := (Engine{}).Begins(baseAt("log.000007", 4, born), all); err != nil || len(in) > 0 || at.Key != "" {
		t.Errorf("%+v, %+v, %v", at, in, err)
	}
	torn := baseAt("log.999999", 4, born)
	torn.Facts[factAt] = "x"
	if _, _, err := (Engine{}).Begins(torn, all); err == nil {
		t.Error("where it begins is not known")
	}
}

// Early is a moment before the base, by time or place.
func TestBefore(t *testing.T) {
	b, err := baseOf(baseAt("log.000009", 100, born))
	if err != nil {
		t.Fatal(err)
	}
	for want, all := range map[bool][]replay.Target{true: {{File: "log.000009", Offset: 99}, {File: "log.000008", Offset: 900}, {Time: born.Add(-3 * time.Hour)}},
		false: {{File: "log.000009", Offset: 100}, {File: "log.1000000", Offset: 4}, {Time: born}, {GTID: "0-1-1"}, {}}} {
		for _, to := range all {
			if before(to, b) != want {
				t.Errorf("%+v: %t", to, !want)
			}
		}
	}
}

// A joint that nothing comes to ends.
func TestJointEnds(t *testing.T) {
	b, err := baseOf(baseAt("log.000001", 100, born))
	if err != nil {
		t.Fatal(err)
	}
	j := &joint{from: b.start()}
	nothing := func(context.Context, io.Writer) error { return nil }
	if j.watch(t.Context(), nothing, io.Discard) == nil || j.why == nil {
		t.Error("an empty file joins")
	}
	j = &joint{from: b.start()}
	noise := func(_ context.Context, out io.Writer) error {
		_, err := io.Copy(out, bytes.NewReader(bytes.Repeat([]byte("noise"), 1000)))
		if err == nil {
			t.Error("noise is read to its end")
		}
		return err
	}
	if j.watch(t.Context(), noise, io.Discard) == nil || j.why == nil {
		t.Error("noise joins")
	}
	j = &joint{from: b.start()}
	cut := func(context.Context, io.Writer) error { return io.ErrClosedPipe }
	if err := j.watch(t.Context(), cut, io.Discard); !errors.Is(err, io.ErrClosedPipe) || j.why == nil {
		t.Error("what was not read joins")
	}
}

// With another key of its host a follower cannot go on, and says by which flag the log gets another name.
func TestAnotherKey(t *testing.T) {
	l, other := newLog(t), newLog(t)
	l.files("binlog.000001")
	l.write("binlog.000001", begin(), change(1))
	l.turns()
	l.anew()
	l.k.Sign, l.k.Public = other.k.Sign, other.k.Public
	_, err := l.f.Turn(t.Context(), l.k)
	if !errors.Is(err, manifest.ErrStranger) || !strings.Contains(hint.Of(err), "another --binlog-name") {
		t.Errorf("%v: %s", err, hint.Of(err))
	}
	l.f.Server, l.shelf.Trust = "mysql-2", other.shelf.Trust
	if why := l.turns(); why != "" || len(l.kept()) != 1 {
		t.Error(why)
	}
}

// With a key that its host was given since, a follower archives anew what the server has, and says why. A base from before leads on in
// that, where its file is among it.
func TestKeyOfTheHostIsReplaced(t *testing.T) {
	l, other := newLog(t), newLog(t)
	l.files("binlog.000001")
	head := bytes.Join([][]byte{begin(), listed(1)}, nil)
	l.write("binlog.000001", head, gtid(2), change(1), commit())
	l.turns()
	l.anew()
	l.k.Past = l.shelf.Trust
	l.k.Sign, l.k.Public = other.k.Sign, other.k.Public
	l.shelf.Trust = append(l.shelf.Trust, other.shelf.Trust...)
	l.write("binlog.000001", head, gtid(2), change(1), commit(), gtid(3), change(2), commit())
	if why := l.turns(); !strings.Contains(why, "the signing key of this host was replaced") {
		t.Errorf("%q", why)
	}
	l.anew()
	if why := l.turns(); why != "" {
		t.Errorf("again: %s", why)
	}
	base := baseAt("binlog.000001", len(head), time.Now())
	base.Facts[factGTID] = "3-7-1"
	if w, err := (Engine{}).Plan(t.Context(), l.shelf, base, moment.Asked{To: replay.Target{Text: "the end"}}); err != nil || w.Count != 2 || len(w.Notes) > 0 {
		t.Errorf("%+v, %v", w, err)
	}
}

// A base goes nowhere where the archive has no log, and is what it was when it ended; the error says how that is restored.
func TestAlone(t *testing.T) {
	l := newLog(t)
	base := baseAt("binlog.000002", 1234, time.Now())
	r := moment.Restore{Restore: backup.Restore{Vault: backup.Vault{Store: l.shelf.Store}}, Engines: []moment.Engine{Engine{}}}
	var a moment.Asked
	if err := a.Read(moment.Latest, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Plan(t.Context(), base, a); err == nil || !strings.Contains(err.Error(), "the archive has no binary log") || !strings.Contains(hint.Of(err), "--to base") {
		t.Errorf("%v, hint: %s", err, hint.Of(err))
	}
	if err := a.Read(moment.Base, time.Now()); err != nil {
		t.Fatal(err)
	}
	if w, _, err := r.Plan(t.Context(), base, a); err != nil || w.Files != 0 || w.From != w.Last || len(w.Notes) > 0 {
		t.Errorf("%+v, %v", w, err)
	}
}

// A host whose key was stolen signs what somebody else writes. What is to go into a statement is looked at.
func TestGTIDsThatAreNone(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001")
	l.write("binlog.000001", begin(), change(1))
	l.turns()
	base := baseAt("binlog.000001", len(begin()), time.Now())
	base.Facts[factGTID] = "', GLOBAL general_log_file = '/var/lib/mysql/x.cnf"
	for _, a := range []moment.Asked{{To: replay.Target{Text: "the end"}}, {Alone: true}, {Log: "mysql", To: replay.Target{Text: "the end"}}} {
		if _, err := (Engine{}).Plan(t.Context(), l.shelf, base, a); err == nil || !strings.Contains(err.Error(), "which are no GTIDs") {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

// What is wrong with where it is restored, and what this machine lacks, is told before the archive is read, which may take hours.
func TestNotReady(t *testing.T) {
	l := newLog(t)
	d := hosttest.LiveDoer(t)
	r := moment.Restore{Restore: backup.Restore{Vault: backup.Vault{Store: l.shelf.Store}, Do: d, Books: t.TempDir()}, Do: d, Engines: []moment.Engine{Engine{}}}
	base := baseAt("binlog.000002", 1234, time.Now())
	base.Facts[factVersion] = "99.1.2-MariaDB"
	under := t.TempDir()
	for dir, want := range map[string]string{under: under + " is there", filepath.Join(under, "new"): "there is no server of the release of MariaDB 99.1.2 here", "new": "is not the path of a directory"} {
		_, err := r.Run(t.Context(), base, moment.Place{Dir: dir, UID: os.Getuid(), GID: os.Getgid()}, moment.Asked{})
		if err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// What somebody else put behind the end of a log is not taken for it, and who is told that knows what to remove; then the log goes on.
func TestForgedEnd(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001")
	l.write("binlog.000001", begin(), change(1))
	l.turns()
	forged := archive.Piece{Server: "mysql", Series: "20991126T000000Z-0123abcd", File: "binlog.000009", To: 7}
	if _, err := l.k.Store.Put(t.Context(), forged.Name(), []byte("trust me"), store.Put{}); err != nil {
		t.Fatal(err)
	}
	l.anew()
	if _, err := l.f.Turn(t.Context(), l.k); err == nil || !strings.Contains(err.Error(), forged.Name()) || !strings.Contains(hint.Of(err), "remove "+forged.Name()) {
		t.Errorf("%v, hint: %s", err, hint.Of(err))
	}
	plain := l.k.Store
	l.k.Store = unread{plain}
	if _, err := l.f.Turn(t.Context(), l.k); !errors.Is(err, errUnread) || strings.Contains(hint.Of(err), "remove") {
		t.Errorf("where nothing could be read: %v, hint: %s", err, hint.Of(err))
	}
	l.k.Store = plain
	if err := l.k.Store.Delete(t.Context(), forged.Name()); err != nil {
		t.Fatal(err)
	}
	l.write("binlog.000001", begin(), change(1), change(2))
	if why := l.turns(); why != "" {
		t.Error(why)
	}
	l.has(map[string][][]byte{"binlog.000001": {begin(), change(1), change(2)}})
}

var errUnread = errors.New("the store does not answer")

// unread is a store that lists, and of which nothing can be read.
type unread struct{ store.Store }

func (unread) Get(context.Context, string, []byte) ([]byte, string, error) {
	return nil, "", errUnread
}
