package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/research/powercut/writelog"
)

// A file of results goes on where it was torn, wherever that was.
func TestTornResults(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results")
	for i := range 3 {
		ok(t, appendTrial(name, trial{Row: "a", Session: i}))
	}
	whole, err := os.ReadFile(name)
	ok(t, err)
	line := len(whole) / 3
	for cut := range len(whole) + 1 {
		ok(t, os.WriteFile(name, whole[:cut], 0o600))
		before, err := readTrials(name)
		ok(t, err)
		ok(t, appendTrial(name, trial{Row: "b"}))
		all, err := readTrials(name)
		ok(t, err)
		if len(all) != cut/line+1 || all[len(all)-1].Row != "b" || len(before) < cut/line {
			t.Fatalf("cut at %d: %d trials, then %d", cut, len(before), len(all))
		}
	}
	if _, err := parseTrials(strings.NewReader("{}\nx\n{}\n")); err == nil {
		t.Error("a damaged line in the midst was read")
	}
	if all, err := readTrials(name + "none"); err != nil || all != nil {
		t.Errorf("no file: %v, %v", all, err)
	}
}

func TestTable(t *testing.T) {
	r := rows()[0]
	var all []trial
	for i := range 20 {
		all = append(all, trial{Row: r.name, Hash: r.hash(), Kind: killed, Session: i, Outcome: outcome{Mounted: true, Started: true, Acknowledged: 100}})
	}
	all = append(all,
		trial{Row: r.name, Hash: r.hash(), Kind: replayed, Outcome: outcome{Mounted: true, Started: true, Acknowledged: 50, Lost: 3}},
		trial{Row: r.name, Hash: r.hash(), Kind: replayed, Cut: 1, Outcome: outcome{Mounted: true, Started: true, Acknowledged: 40, Lost: 1, Bad: []string{"tables"}}},
		trial{Row: r.name, Hash: r.hash(), Kind: replayed, Cut: 2, Outcome: outcome{Mounted: true}},
		trial{Row: r.name, Hash: r.hash(), Kind: replayed, Session: 1, Error: "no qemu"},
		trial{Row: r.name, Hash: "another", Kind: replayed, Outcome: outcome{Mounted: true, Started: true, Lost: 77}},
	)
	text := table(rows()[:2], all)
	for _, want := range []string{
		"| MariaDB 11.8, ext4, doublewrite on | killed | 20 | 0 of 2000 | 0 of 20 | 0 of 20 |",
		"| replayed | 3 cuts of 1 session | 4 of 90, in 2 trials, at most 3 | 1 of 3 | 1 of 3: tables |",
		"not counted: mariadb-ext4 (replayed): 1", "Not tried: mariadb-xfs (killed), mariadb-xfs (replayed)", "none of 3 trials",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if got := atMost(20); got < 0.138 || got > 0.140 {
		t.Errorf("none of 20: %g", got)
	}
}

func TestMarks(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	ok(t, os.WriteFile(log, make([]byte, 2048), 0o600))
	m := newMarker(log)
	for _, text := range []string{"hello\nack 3", "\nack 2\nack x\nack -1\n" + strings.Repeat("y", 1000) + "\nack ", "5\r\nack 7"} {
		if n, err := m.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	got := m.all()
	if len(got) != 2 || got[0] != (mark{3, 2048}) || got[1] != (mark{5, 2048}) {
		t.Errorf("%+v", got)
	}
	select {
	case <-m.first:
	default:
		t.Error("the first commit was not noticed")
	}
}

// No more commits are asked for than were acknowledged before the cut.
func TestAcknowledged(t *testing.T) {
	l := &writelog.Log{SectorSize: 512, End: 512 * 21}
	for i := range 10 { // each entry has a sector of data
		l.Entries = append(l.Entries, writelog.Entry{At: int64(512 + 1024*i), Sectors: 1, Data: int64(1024 + 1024*i)})
	}
	marks := []mark{{1, 512 + 1}, {4, 512 + 4*1024}, {9, 512*21 + 4096}}
	for end, want := range []int64{0, 1, 1, 1, 4, 4, 4, 4, 4, 4, 9} {
		if got := acknowledged(marks, l, end); got != want {
			t.Errorf("cut after %d: %d, want %d", end, got, want)
		}
	}
	l.Hole = true
	if got := acknowledged(marks, l, 10); got != 4 {
		t.Errorf("behind a hole: %d", got)
	}
	for seed := range uint64(500) {
		c, records, err := drawCut(l, marks, seed)
		ok(t, err)
		if c.End < 2 || c.End > 10 || records < 1 || records > 4 {
			t.Fatalf("seed %d: %s with %d", seed, c, records)
		}
	}
	for _, none := range [][]mark{nil, {{5, 1 << 20}}} {
		if _, _, err := drawCut(l, none, 1); err == nil {
			t.Errorf("%v: a cut was drawn", none)
		}
	}
}

// The guest's watch says each growth once, and ends when nobody listens.
func TestWatch(t *testing.T) {
	l := &listener{book: filepath.Join(t.TempDir(), "book")}
	ok(t, l.grow())
	if err := watch(l.book, l); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if got := l.heard.String(); got != "ack 2\nack 4\nack 6\n" {
		t.Errorf("%q", got)
	}
}

// listener lets a ledger grow when it hears that it grew, and is gone after
// three times.
type listener struct {
	book  string
	times int
	heard bytes.Buffer
}

func (l *listener) grow() error {
	l.times++
	return os.WriteFile(l.book, make([]byte, bookHeader+2*l.times*bookRecord), 0o600)
}

func (l *listener) Write(p []byte) (int, error) {
	l.heard.Write(p)
	if l.times == 3 {
		return 0, os.ErrClosed
	}
	return len(p), l.grow()
}

func TestReplayByHand(t *testing.T) {
	dir := t.TempDir()
	log := make([]byte, 512)
	copy(log, []byte{0x72, 0x68, 0x73, 0x77, 0x66, 0x73, 0x6a}) // the magic number, from its last byte
	log[8], log[25] = 1, 2
	log = append(log, entry(1, 1, 0, 42)...)
	log = append(log, entry(0, 0, 1, 0)...)
	o := order{log: filepath.Join(dir, "log"), base: filepath.Join(dir, "base"), image: filepath.Join(dir, "image"), end: -1, seed: 1}
	ok(t, os.WriteFile(o.log, log, 0o600))
	ok(t, os.WriteFile(o.base, make([]byte, 2048), 0o600))
	ok(t, o.replay(context.Background()))
	got, err := os.ReadFile(o.image)
	ok(t, err)
	if !bytes.Equal(got[512:1024], content(42)) || len(got) != 2048 {
		t.Errorf("%x", got[:16])
	}
	if err := o.replay(context.Background()); err == nil {
		t.Error("an image was written over")
	}
}
