package writelog

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const diskSectors = 24

// drawOps draws what a guest did to a small disk. Each write has a byte of its
// own, so that a sector tells which write it is from.
func drawOps(t *rapid.T) []op {
	n := rapid.IntRange(0, 60).Draw(t, "operations")
	ops := make([]op, n)
	for i := range ops {
		o := op{fill: byte(i + 1)}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			ops[i] = flush
			continue
		case 2:
			ops[i] = op{flags: Mark, mark: "here"}
			continue
		case 3:
			o.flags, o.fill = Discard, 0
		case 4:
			o.flags = FUA
		case 5: // Linux has these
			o.flags = rapid.SampledFrom([]Flags{Flush, Flush | FUA}).Draw(t, "flush with data")
		}
		o.sector = uint64(rapid.IntRange(0, diskSectors-1).Draw(t, "sector"))
		o.count = uint64(rapid.IntRange(1, diskSectors-int(o.sector)).Draw(t, "sectors"))
		ops[i] = o
	}
	return ops
}

// lastFlush is the last flush among operations, or -1.
func lastFlush(ops []op) int {
	for i := len(ops) - 1; i >= 0; i-- {
		if ops[i].flags&Flush != 0 {
			return i
		}
	}
	return -1
}

// allowed gives, for each sector, what a disk that keeps its promises may hold
// after operations were cut: it is written without looking at the package.
func allowed(ops []op) [diskSectors][]byte {
	var may [diskSectors][]byte
	for s := range may {
		may[s] = []byte{0}
	}
	flushed := lastFlush(ops)
	for i, o := range ops {
		if o.flags&Mark != 0 {
			continue
		}
		for s := o.sector; s < o.sector+o.count; s++ {
			if i < flushed || o.flags&FUA != 0 {
				may[s] = may[s][:0] // what it was before is gone
			}
			may[s] = append(may[s], o.fill)
		}
	}
	return may
}

// Whatever is cut wherever, each sector holds a version that the disk may have
// kept: what a flush covers, or a write with FUA put there, is never lost.
func TestPromisesAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := drawOps(t)
		log := made(512, ops...)
		l, err := Read(bytes.NewReader(log), int64(len(log)))
		if err != nil || len(l.Entries) != len(ops) || l.Hole {
			t.Fatalf("%v, %+v", err, l)
		}
		end := rapid.IntRange(0, len(ops)).Draw(t, "end")
		c, err := l.Draw(end, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		image := make(disk, diskSectors*512)
		if err := l.Replay(bytes.NewReader(log), image, int64(len(image)), c); err != nil {
			t.Fatal(err)
		}
		may := allowed(ops[:end])
		for s, got := range image.sectors(t, 512) {
			if !slices.Contains(may[s], got) {
				t.Fatalf("sector %d holds write %d, and may hold %v: %s", s, got, may[s], c)
			}
		}
	})
}

// Keeping all of it makes the disk that the guest saw.
func TestAllIsTheFullImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := drawOps(t)
		log := made(512, ops...)
		l, err := Read(bytes.NewReader(log), int64(len(log)))
		if err != nil {
			t.Fatal(err)
		}
		image, full := make(disk, diskSectors*512), make(disk, diskSectors*512)
		if err := l.Replay(bytes.NewReader(log), image, int64(len(image)), l.All()); err != nil {
			t.Fatal(err)
		}
		for _, o := range ops {
			if o.flags&Mark == 0 {
				copy(full[o.sector*512:], bytes.Repeat([]byte{o.fill}, int(o.count)*512))
			}
		}
		if !bytes.Equal(image, full) {
			t.Fatalf("%v\n%v", image.sectors(t, 512), full.sectors(t, 512))
		}
	})
}

// The same seed cuts the same.
func TestSeedsRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := made(512, drawOps(t)...)
		l, err := Read(bytes.NewReader(log), int64(len(log)))
		if err != nil {
			t.Fatal(err)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		a, err := l.Draw(len(l.Entries), seed)
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Draw(len(l.Entries), seed)
		if err != nil {
			t.Fatal(err)
		}
		if a.String() != b.String() || !slices.Equal(a.Parts, b.Parts) {
			t.Fatalf("%+v\n%+v", a, b)
		}
	})
}
