package files

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/load"
)

// device is files that only count; nothing of the machine is touched.
type device struct {
	mu   sync.Mutex
	did  []string
	held map[string][]byte // what was written, by file and offset; nil: not kept
}

type deviceFile struct {
	*device
	index int
}

func (f deviceFile) note(what string) {
	f.mu.Lock()
	f.did = append(f.did, what)
	f.mu.Unlock()
}

func (f deviceFile) ReadAt(p []byte, at int64) error {
	f.note("r")
	if f.held != nil {
		f.mu.Lock()
		copy(p, f.held[fmt.Sprint(f.index, at)])
		f.mu.Unlock()
	}
	return nil
}

func (f deviceFile) WriteAt(p []byte, at int64) error {
	f.note("w")
	if f.held != nil {
		f.mu.Lock()
		f.held[fmt.Sprint(f.index, at)] = bytes.Clone(p)
		f.mu.Unlock()
	}
	return nil
}
func (f deviceFile) Sync() error     { f.note(fmt.Sprint("f", f.index)); return nil }
func (f deviceFile) Datasync() error { f.note(fmt.Sprint("d", f.index)); return nil }
func (f deviceFile) Close() error    { return nil }

func onDevice(c IOConfig) (*IO, *device) {
	w, d := newIO(c, 1), &device{}
	for i := range c.Files {
		w.files = append(w.files, deviceFile{d, i})
	}
	return w, d
}

func small(mode string) IOConfig {
	c := DefaultIO()
	c.Mode, c.TotalSize, c.Seed = mode, 128*4*16384, 3
	return c
}

// With the defaults a run is 100 requests, 60 reads and 40 writes, then an
// fsync of each of the 128 files, and so on.
func TestDefaultPattern(t *testing.T) {
	w, d := onDevice(small(RandBoth))
	res, err := load.Run(context.Background(), w, load.Options{Threads: 1, Events: 2 * 228})
	if err != nil || res.Ended != nil {
		t.Fatal(err, res.Ended)
	}
	for cycle := range 2 {
		did := d.did[cycle*228 : (cycle+1)*228]
		requests := strings.Join(did[:100], "")
		if r, w := strings.Count(requests, "r"), strings.Count(requests, "w"); r != 60 || w != 40 {
			t.Errorf("cycle %d: %d reads and %d writes, want 60 and 40", cycle, r, w)
		}
		for i, s := range did[100:] {
			if s != fmt.Sprint("f", i) {
				t.Fatalf("cycle %d: operation %d after the requests is %s", cycle, i, s)
			}
		}
	}
	if got := res.Ops[opRead].Done; got != 120 {
		t.Errorf("%d reads in the result", got)
	}
	if res.Ops[opFsync].Other != 256 || res.Ops[opWrite].WriteBytes != 80*16384 {
		t.Errorf("result %+v", res.Ops)
	}
}

// The pattern is the rule of sysbench, applied one after the other.
func TestPatternIsTheRule(t *testing.T) {
	for _, ratio := range []float64{1.5, 1, 0.5, 0, 3, 7.3, 99, 250} {
		for _, freq := range []int{1, 2, 7, 100} {
			c := small(RandBoth)
			c.RWRatio, c.FsyncFreq, c.Files = ratio, freq, 3
			p := newPlan(c)
			n, reads, writes, dirty := int64(0), 0, 0, false
			for r := range 2000 {
				want := opWrite
				if float64(reads+1)/float64(writes+1) < ratio {
					want = opRead
					reads++
				} else {
					writes++
					dirty = true
				}
				if got := p.at(n); got.op != want {
					t.Fatalf("ratio %g, freq %d, request %d: op %d, want %d", ratio, freq, r, got.op, want)
				}
				n++
				if (r+1)%freq == 0 && dirty {
					for f := range 3 {
						if got := p.at(n); got.op != opFsync || got.file != f {
							t.Fatalf("ratio %g, freq %d, after request %d: %+v, want an fsync of %d", ratio, freq, r, got, f)
						}
						n++
					}
					dirty = false
				}
			}
		}
	}
}

func TestSequential(t *testing.T) {
	c := small(SeqRewrite)
	c.Files, c.TotalSize, c.Merged, c.FsyncFreq = 2, 2*5*16384, 2, 0
	p := newPlan(c)
	var got []string
	for n := range int64(7) {
		r := p.at(n)
		got = append(got, fmt.Sprintf("%d:%d+%d", r.file, r.at/16384, r.length/16384))
	}
	want := []string{"0:0+2", "0:2+2", "0:4+1", "1:0+2", "1:2+2", "1:4+1", "0:0+2"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	c.Mode, c.FsyncFreq = SeqWrite, 4
	if n := newPlan(c).operations(); n != 6+2 { // one round after 4 requests; the rest is synced at the end
		t.Errorf("seqwr has %d operations, want 8", n)
	}
}

// Places are even over all blocks, and the same whoever asks.
func TestRandomPlaces(t *testing.T) {
	c := small(RandRead)
	p := newPlan(c)
	seen := map[[2]int64]int{}
	for n := range int64(51200) {
		r := p.at(n)
		if r != p.at(n) || r.at%16384 != 0 || r.at >= c.fileSize() || r.op != opRead {
			t.Fatalf("operation %d: %+v", n, r)
		}
		seen[[2]int64{int64(r.file), r.at}]++
	}
	if len(seen) != 512 {
		t.Errorf("%d of 512 blocks were hit", len(seen))
	}
	for at, n := range seen { // 100 each, standard deviation 10
		if n < 50 || n > 160 {
			t.Errorf("%v was hit %d times of about 100", at, n)
		}
	}
}

// What is written does not compress and never repeats.
func TestFreshContent(t *testing.T) {
	pool := newPool(1)
	sectors := map[string]bool{}
	for _, part := range []float64{0, 0.5} {
		var all []byte
		for n := range int64(64) {
			b := make([]byte, 16384)
			fresh(b, pool, 9, n, part)
			name(b, n, uint64(n), false)
			all = append(all, b...)
			for i := 0; i < len(b); i += sector {
				sectors[string(b[i:i+sector])] = true
			}
		}
		var out bytes.Buffer
		z, _ := flate.NewWriter(&out, flate.BestCompression)
		_, _ = z.Write(all)
		_ = z.Close()
		left := float64(out.Len()) / float64(len(all))
		if want := 1 - part; left < want-0.02 || left > want+0.05 {
			t.Errorf("compressible %g: %.3f left after compression", part, left)
		}
	}
	if len(sectors) != 2*64*32 {
		t.Errorf("%d different sectors of %d", len(sectors), 2*64*32)
	}
	again, other := make([]byte, 4096), make([]byte, 4096)
	fresh(again, pool, 10, 5, 0)
	fresh(other, pool, 9, 5, 0)
	if bytes.Equal(again, other) {
		t.Error("two runs write the same")
	}
}

func TestValidate(t *testing.T) {
	c := small(RandBoth)
	c.Validate, c.Files, c.TotalSize = true, 2, 8*16384
	w, d := onDevice(c)
	d.held = map[string][]byte{}
	for f := range 2 {
		for b := range int64(4) {
			block := make([]byte, 16384)
			name(block, int64(f)*4+b, 0, true)
			d.held[fmt.Sprint(f, b*16384)] = block
		}
	}
	o := load.Options{Threads: 8, Events: 3000}
	res, err := load.Run(context.Background(), w, o)
	if err != nil || res.Ended != nil {
		t.Fatal(err, res.Ended)
	}
	for key := range d.held {
		d.held[key][9000] ^= 1
	}
	res, err = load.Run(context.Background(), w, o)
	if err != nil || res.Ended == nil || !strings.Contains(res.Ended.Error(), "checksum does not match") {
		t.Errorf("a flipped bit was not found: %v, %v", err, res.Ended)
	}
}

func TestBadConfig(t *testing.T) {
	for name, change := range map[string]func(*IOConfig){
		"async":   func(c *IOConfig) { c.IOMode = "async" },
		"mmap":    func(c *IOConfig) { c.IOMode = "mmap" },
		"other":   func(c *IOConfig) { c.IOMode = "magic" },
		"mode":    func(c *IOConfig) { c.Mode = "rndxx" },
		"files":   func(c *IOConfig) { c.Files = 0 },
		"block":   func(c *IOConfig) { c.BlockSize = 0 },
		"size":    func(c *IOConfig) { c.TotalSize = 5 },
		"negsize": func(c *IOConfig) { c.TotalSize = -5 },
		"fsync":   func(c *IOConfig) { c.FsyncMode = "sometimes" },
		"freq":    func(c *IOConfig) { c.FsyncFreq = -1 },
		"merged":  func(c *IOConfig) { c.Merged = 1 << 40 },
		"ratio":   func(c *IOConfig) { c.RWRatio = -1 },
		"part":    func(c *IOConfig) { c.Compressible = 2 },
	} {
		c := small(RandBoth)
		change(&c)
		if _, err := NewIO(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDoAllocatesNothing(t *testing.T) {
	w, _ := onDevice(small(RandBoth))
	for i := range w.files {
		w.files[i] = nothing{}
	}
	k, err := w.Open(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	var tally load.Tally
	if got := testing.AllocsPerRun(1000, func() { _ = k.Do(n, &tally); n++ }); got != 0 {
		t.Errorf("%g allocations each", got)
	}
}

type nothing struct{}

func (nothing) ReadAt([]byte, int64) error  { return nil }
func (nothing) WriteAt([]byte, int64) error { return nil }
func (nothing) Sync() error                 { return nil }
func (nothing) Datasync() error             { return nil }
func (nothing) Close() error                { return nil }

func BenchmarkDo(b *testing.B) {
	w, _ := onDevice(small(RandWrite))
	for i := range w.files {
		w.files[i] = nothing{}
	}
	k, _ := w.Open(context.Background(), 0)
	var tally load.Tally
	for n := range b.N {
		_ = k.Do(int64(n), &tally)
	}
}

func BenchmarkPlan(b *testing.B) {
	p := newPlan(small(RandBoth))
	for n := range b.N {
		p.at(int64(n))
	}
}

func TestSweepCompares(t *testing.T) {
	s := &Sweep{}
	for i, mean := range []time.Duration{100 * time.Microsecond, 200 * time.Microsecond} {
		l := load.NewLatency()
		for range 1000 {
			l.Record(mean)
		}
		res := &load.Result{Measured: time.Second, Ops: []load.OpResult{{Name: "read", Done: 1000, Response: l}, {Name: "write"}}}
		s.Levels = append(s.Levels, s.level([]int{1, 8}[i], &IOResult{Result: res}))
	}
	o := s.Levels[1].Ops
	if len(o) != 1 || o[0].Slower < 1.99 || o[0].Slower > 2.01 || o[0].Parallel < 3.9 || o[0].Parallel > 4.1 || o[0].Rate != 1000 {
		t.Errorf("%+v", o)
	}
}
