package writelog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// op is an entry of a log made by hand: sectors filled with one byte.
type op struct {
	flags  Flags
	sector uint64
	count  uint64
	fill   byte
	mark   string
}

func write(sector, count uint64, fill byte) op { return op{0, sector, count, fill, ""} }

var flush = op{flags: Flush}

// made makes a log as QEMU writes it. No log of a real QEMU is kept here: the
// form was taken from its source.
func made(sector int, ops ...op) []byte {
	log := head(sector, len(ops))
	for _, o := range ops {
		log = append(log, o.bytes(sector)...)
	}
	return log
}

func head(sector, entries int) []byte {
	log := make([]byte, sector)
	binary.LittleEndian.PutUint64(log, magic)
	binary.LittleEndian.PutUint64(log[8:], version)
	binary.LittleEndian.PutUint64(log[16:], uint64(entries))
	binary.LittleEndian.PutUint32(log[24:], uint32(sector))
	return log
}

func (o op) bytes(sector int) []byte {
	b := make([]byte, sector)
	binary.LittleEndian.PutUint64(b, o.sector)
	binary.LittleEndian.PutUint64(b[8:], o.count)
	binary.LittleEndian.PutUint64(b[16:], uint64(o.flags))
	if o.mark != "" {
		binary.LittleEndian.PutUint64(b[24:], uint64(len(o.mark)))
		copy(b[entrySize:], o.mark)
	}
	if o.flags&Discard == 0 {
		b = append(b, bytes.Repeat([]byte{o.fill}, int(o.count)*sector)...)
	}
	return b
}

// disk is an image in memory.
type disk []byte

func (d disk) WriteAt(p []byte, at int64) (int, error) {
	if at < 0 || at+int64(len(p)) > int64(len(d)) {
		return 0, errors.New("beyond the end")
	}
	return copy(d[at:], p), nil
}

// sectors gives the first byte of each sector, and fails on a mixed one.
func (d disk) sectors(t interface{ Fatalf(string, ...any) }, size int) []byte {
	var out []byte
	for at := 0; at < len(d); at += size {
		if n := bytes.Count(d[at:at+size], d[at:at+1]); n != size {
			t.Fatalf("the sector at %d is torn", at)
		}
		out = append(out, d[at])
	}
	return out
}

func read(t *testing.T, log []byte) *Log {
	t.Helper()
	l, err := Read(bytes.NewReader(log), int64(len(log)))
	ok(t, err)
	return l
}

func replayed(t *testing.T, log []byte, l *Log, sectors int, c Cut) []byte {
	t.Helper()
	image := make(disk, sectors*int(l.SectorSize))
	ok(t, l.Replay(bytes.NewReader(log), image, int64(len(image)), c))
	return image.sectors(t, int(l.SectorSize))
}

func TestRead(t *testing.T) {
	for _, size := range []int{512, 4096} {
		log := made(size, write(0, 2, 'a'), op{flags: Mark, mark: "mkfs"}, flush, op{flags: Discard, sector: 1, count: 1}, op{flags: FUA, sector: 3, count: 1, fill: 'f'}, write(2, 1, 'b'))
		l := read(t, log)
		if l.SectorSize != int64(size) || l.Counted != 6 || len(l.Entries) != 6 || l.Hole {
			t.Fatalf("%+v", l)
		}
		if e := l.Entries[1]; e.Mark != "mkfs" || e.writes() {
			t.Errorf("the mark: %+v", e)
		}
		if got := l.Flushes(); !slices.Equal(got, []int{2}) || l.LastFlush(6) != 2 || l.LastFlush(2) != -1 {
			t.Errorf("flushes %v", got)
		}
		if got := replayed(t, log, l, 4, l.All()); string(got) != "a\x00bf" {
			t.Errorf("all of it makes %q", got)
		}
	}
}

// A log of a QEMU that was killed: the count of the super block is old, the
// last entry is there in part.
func TestKilledWriter(t *testing.T) {
	whole := append(head(512, 2), made(512, write(0, 1, 'a'), flush, write(1, 1, 'b'), flush, write(2, 3, 'c'), write(5, 2, 'd'))[512:]...)
	for cut := range len(whole) - 512 {
		log := whole[:512+cut]
		l := read(t, log)
		want := 0
		for i, end := range []int{1024, 512, 1024, 512, 2048, 1536} {
			if cut >= sum([]int{1024, 512, 1024, 512, 2048, 1536}[:i])+end {
				want = i + 1
			}
		}
		if len(l.Entries) != want || l.Hole {
			t.Fatalf("cut to %d bytes: %d entries, want %d, hole %v", len(log), len(l.Entries), want, l.Hole)
		}
	}
}

func sum(list []int) (n int) {
	for _, i := range list {
		n += i
	}
	return n
}

// What was not all written is doubtful after the last flush, and kept before it.
func TestDoubtful(t *testing.T) {
	log := made(512, write(0, 1, 0), flush, write(1, 3, 'c'), write(4, 2, 'd'))
	clear(log[len(log)-512:])
	l := read(t, log)
	for i, want := range []bool{false, false, false, true} {
		if l.Entries[i].Doubtful != want {
			t.Errorf("entry %d: doubtful %v", i, !want)
		}
	}
	for seed := range uint64(200) {
		c, err := l.Draw(4, seed)
		ok(t, err)
		for _, p := range c.Parts {
			if p.Entry == 3 {
				t.Fatalf("seed %d keeps what is doubtful: %s", seed, c)
			}
		}
	}
}

func TestHole(t *testing.T) {
	log := made(512, write(0, 1, 'a'), flush)
	log = append(log, make([]byte, 1024)...)
	if l := read(t, log); l.Hole || len(l.Entries) != 2 {
		t.Errorf("zeros at the end are a hole: %+v", l)
	}
	log = append(log, flush.bytes(512)...)
	if l := read(t, log); !l.Hole || len(l.Entries) != 2 {
		t.Errorf("a missing entry is none: %+v", l)
	}
}

func TestDamaged(t *testing.T) {
	good := made(512, write(0, 1, 'a'), flush)
	for name, spoil := range map[string]func(b []byte){
		"magic":       func(b []byte) { b[0]++ },
		"version":     func(b []byte) { b[8]++ },
		"sector size": func(b []byte) { b[24]++ },
		"tiny sector": func(b []byte) { binary.LittleEndian.PutUint32(b[24:], 256) },
		"flags":       func(b []byte) { b[512+17] = 1 },
		"behind":      func(b []byte) { b[512+100] = 1 },
		"far":         func(b []byte) { b[512+6] = 1 },
		"overflow":    func(b []byte) { copy(b[512:], bytes.Repeat([]byte{0xff}, 16)) },
	} {
		b := bytes.Clone(good)
		spoil(b)
		if _, err := Read(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrNoLog) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, short := range []int{0, 27} {
		if _, err := Read(bytes.NewReader(good[:short]), int64(short)); !errors.Is(err, ErrNoLog) {
			t.Errorf("%d bytes: %v", short, err)
		}
	}
	if _, _, err := ParseEntry(op{flags: Mark, mark: "x"}.bytes(512)[:100]); err == nil {
		t.Error("a short sector was read")
	}
	long := op{flags: Mark, mark: "x"}.bytes(512)
	binary.LittleEndian.PutUint64(long[24:], 481)
	if _, _, err := ParseEntry(long); err == nil {
		t.Error("a mark longer than its sector was read")
	}
}

// What a log of Linux can have: a flush that carries data covers what was
// before it and not itself.
func TestFlushWithData(t *testing.T) {
	log := made(512, write(0, 1, 'a'), op{flags: Flush, sector: 1, count: 1, fill: 'b'}, op{flags: Flush | FUA, sector: 2, count: 1, fill: 'c'})
	l := read(t, log)
	seen := map[string]bool{}
	for seed := range uint64(100) {
		c, err := l.Draw(2, seed)
		ok(t, err)
		seen[string(replayed(t, log, l, 3, c))] = true
	}
	if len(seen) != 2 || !seen["a\x00\x00"] || !seen["ab\x00"] {
		t.Errorf("%v", seen)
	}
	c, err := l.Draw(3, 1)
	ok(t, err)
	if got := replayed(t, log, l, 3, c); string(got) != "abc" {
		t.Errorf("%q", got)
	}
}

// Every kind of loss is met: nothing, all, the first ones, any, torn at the
// beginning, at the end and in between.
func TestDrawMeetsAll(t *testing.T) {
	log := made(512, write(0, 1, 'a'), flush, write(1, 4, 'b'), write(5, 4, 'c'))
	l := read(t, log)
	seen := map[string]int{}
	for seed := range uint64(20000) {
		c, err := l.Draw(4, seed)
		ok(t, err)
		got := string(replayed(t, log, l, 9, c))
		if got[0] != 'a' {
			t.Fatalf("seed %d loses what was flushed: %q", seed, got)
		}
		if c.Whole+c.Torn+c.Lost != 2 {
			t.Fatalf("seed %d: %s", seed, c)
		}
		seen[strings.ReplaceAll(got[1:], "\x00", ".")]++
	}
	for _, want := range []string{"........", "bbbbcccc", "bbbb....", "....cccc", "bb......", "..bb....", "b.b.....", "bbbbc...", "bbbb...c"} {
		if seen[want] == 0 {
			t.Errorf("never met %q", want)
		}
	}
}

// Of two writes that no flush promised, the one is lost and the other torn,
// whatever becomes of the rest; others cannot be chosen.
func TestDrawTorn(t *testing.T) {
	log := made(512, write(0, 1, 'a'), flush, write(1, 4, 'b'), write(5, 2, 'x'), write(7, 4, 'c'), flush)
	l := read(t, log)
	for seed := range uint64(200) {
		c, err := l.DrawTorn(5, seed, 2, 4)
		ok(t, err)
		got := strings.ReplaceAll(string(replayed(t, log, l, 11, c)), "\x00", ".")
		if !strings.HasPrefix(got, "a....") || !strings.HasSuffix(got, "cc..") || c.Whole+c.Torn+c.Lost != 3 {
			t.Fatalf("seed %d: %q, %s", seed, got, c)
		}
	}
	for _, bad := range [][3]int{{5, 0, 4}, {5, 2, 5}, {5, -1, 4}, {6, 2, 4}, {5, 1, 4}} {
		if c, err := l.DrawTorn(bad[0], 1, bad[1], bad[2]); err == nil {
			t.Errorf("%v: %s", bad, c)
		}
	}
}

func TestCutsThatDoNotFit(t *testing.T) {
	log := made(512, write(0, 2, 'a'), flush, write(2, 2, 'b'))
	l := read(t, log)
	for _, end := range []int{-1, 4} {
		if _, err := l.Draw(end, 1); err == nil {
			t.Errorf("cut at %d", end)
		}
	}
	image := make(disk, 4*512)
	for _, c := range []Cut{
		{End: 4, Flush: 1}, {End: 3, Flush: 3}, {End: 3, Flush: -2}, {End: 3, Flush: 1, Parts: []Part{{Entry: 0, Count: 1}}},
		{End: 3, Flush: 1, Parts: []Part{{Entry: 3, Count: 1}}}, {End: 3, Flush: 1, Parts: []Part{{Entry: 2, From: 1, Count: 2}}},
		{End: 3, Flush: 1, Parts: []Part{{Entry: 2, From: -1, Count: 1}}},
	} {
		if err := l.Replay(bytes.NewReader(log), image, int64(len(image)), c); err == nil {
			t.Errorf("%+v was replayed", c)
		}
	}
	if err := l.Replay(bytes.NewReader(log), image[:1024], 1024, l.All()); err == nil {
		t.Error("a write beyond the end of the disk was replayed")
	}
	if err := l.Replay(bytes.NewReader(log[:len(log)-1]), image, int64(len(image)), l.All()); !errors.Is(err, ErrNoLog) {
		t.Errorf("data that are gone: %v", err)
	}
}

func TestStrings(t *testing.T) {
	if got := fmt.Sprint(Flush|FUA, Flags(0), Mark); got != "flush|fua write mark" {
		t.Error(got)
	}
	if got := (Cut{End: 5, Flush: -1, Lost: 2}).String(); !strings.Contains(got, "no flush") || !strings.Contains(got, "2 lost") {
		t.Error(got)
	}
}

func FuzzRead(f *testing.F) {
	good := made(512, write(0, 2, 'a'), op{flags: Mark, mark: "mkfs"}, flush, op{flags: Discard, sector: 1, count: 1}, op{flags: FUA, sector: 3, count: 1, fill: 'f'}, write(2, 5, 'b'))
	f.Add(good, uint64(1))
	f.Add(good[:len(good)-700], uint64(2))
	f.Add(made(4096, write(1, 1, 'x'), flush, op{flags: Flush | FUA, sector: 1, count: 1, fill: 'y'}), uint64(3))
	f.Add(append(good, flush.bytes(512)...), uint64(4))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		if len(data) > 1<<20 {
			return
		}
		_, _ = ParseSuper(data)
		_, _, _ = ParseEntry(data)
		l, err := Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for i, e := range l.Entries {
			if e.Sector < 0 || e.Sectors < 0 || e.Data+e.logged()*l.SectorSize > int64(len(data)) {
				t.Fatalf("entry %d of %d bytes: %+v", i, len(data), e)
			}
		}
		image := make(disk, 64<<10)
		c, err := l.Draw(int(seed%uint64(len(l.Entries)+1)), seed)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Replay(bytes.NewReader(data), image, int64(len(image)), c) // may be beyond the end of the disk
	})
}
