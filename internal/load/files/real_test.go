package files_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/scratch"
	"plumb/internal/load"
	"plumb/internal/load/files"
	"plumb/test/sandbox"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func config(dir, mode string) files.IOConfig {
	c := files.DefaultIO()
	c.Dir, c.Mode, c.Files, c.TotalSize, c.Seed = dir, mode, 4, 16<<20, 5
	return c
}

// run opens, runs and closes.
func run(t *testing.T, c files.IOConfig, o load.Options) *files.IOResult {
	t.Helper()
	w, err := files.NewIO(c)
	ok(t, err)
	res, err := files.Run(t.Context(), w, o)
	ok(t, err)
	ok(t, w.Close())
	ok(t, res.Ended)
	return res
}

func TestModesOnFiles(t *testing.T) {
	dir := t.TempDir()
	o := load.Options{Threads: 4, Events: 2000}
	p, err := files.Prepare(t.Context(), config(dir, files.RandBoth), 2, nil)
	ok(t, err)
	if p.Old || p.Bytes != 16<<20 {
		t.Errorf("%+v", p)
	}
	for _, mode := range []string{files.SeqRewrite, files.SeqRead, files.RandRead, files.RandWrite, files.RandBoth} {
		c := config(dir, mode)
		c.Validate = true
		res := run(t, c, o)
		if mode == files.SeqRead && res.Total.ReadBytes != 2000*16384 {
			t.Errorf("%s: %d bytes", mode, res.Total.ReadBytes)
		}
		if writes := c.Writes(); (res.End != nil) != writes || writes && (res.End.Err != nil || res.End.Files != 4) {
			t.Errorf("%s: %+v", mode, res.End)
		}
	}
	if p, err := files.Prepare(t.Context(), config(dir, files.RandRead), 2, nil); err != nil || !p.Old {
		t.Errorf("prepared again: %+v %v", p, err)
	}
	c := config(dir, files.SeqWrite)
	c.Merged, c.FsyncFreq = 3, 0
	res := run(t, c, load.Options{Threads: 4, Time: time.Minute})
	if res.Total.WriteBytes != 16<<20 {
		t.Errorf("seqwr wrote %d bytes", res.Total.WriteBytes)
	}
	n, err := files.Cleanup(dir)
	if left, _ := os.ReadDir(dir); err != nil || n != 4 || len(left) != 0 {
		t.Errorf("cleanup: %d, %v, left %v", n, err, left)
	}
}

// What was read right after it was written came from memory, and that is said.
func TestPageCacheIsTold(t *testing.T) {
	dir := t.TempDir()
	c := config(dir, files.SeqRead)
	_, err := files.Prepare(t.Context(), c, 2, nil)
	ok(t, err)
	run(t, c, load.Options{Threads: 1, Events: 1024}) // warms the cache
	res := run(t, c, load.Options{Threads: 1, Events: 4096})
	if res.Cache == nil {
		t.Skip("it cannot be told here") // no /proc/self/io
	}
	marked := slices.ContainsFunc(res.Marks, func(m load.Mark) bool { return m.Kind == files.MarkPageCache })
	if res.Cache.Part < 0.95 || !marked {
		t.Errorf("%+v, marks %v", res.Cache, res.Marks)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	if _, err := files.NewIO(config(dir, files.RandRead)); !errors.Is(err, scratch.ErrNoSet) {
		t.Errorf("not prepared: %v", err)
	}
	ok(t, os.WriteFile(filepath.Join(dir, "test_file.2"), []byte("precious"), 0o600))
	for _, mode := range []string{files.RandRead, files.SeqWrite} {
		if _, err := files.Prepare(t.Context(), config(dir, mode), 2, nil); !errors.Is(err, scratch.ErrForeign) {
			t.Errorf("%s: a foreign file: %v", mode, err)
		}
	}
	dir = t.TempDir()
	_, err := files.Prepare(t.Context(), config(dir, files.RandRead), 2, nil)
	ok(t, err)
	c := config(dir, files.RandRead)
	c.TotalSize *= 2
	if _, err := files.NewIO(c); err == nil || !strings.Contains(err.Error(), "prepare again") {
		t.Errorf("another size: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := files.Prepare(ctx, c, 2, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := files.NewIO(c); !errors.Is(err, scratch.ErrNoSet) {
		t.Errorf("half prepared: %v", err)
	}
}

// aWhile is a time in which some writes are durable, on a disk that has other work too.
func aWhile(t *testing.T, dir string) time.Duration {
	t.Helper()
	f, err := os.CreateTemp(dir, "a-while")
	ok(t, err)
	defer os.Remove(f.Name())
	defer f.Close()
	longest := 20 * time.Millisecond
	for range 5 {
		began := time.Now()
		_, err := f.Write(make([]byte, 4096))
		ok(t, err)
		ok(t, f.Sync())
		longest = max(longest, time.Since(began))
	}
	return 10 * longest
}

func TestSweepAndProbe(t *testing.T) {
	dir := t.TempDir()
	c := config(dir, files.RandRead)
	_, err := files.Prepare(t.Context(), c, 2, nil)
	ok(t, err)
	s, err := files.RunSweep(t.Context(), c, []int{4, 1, 2, 8}, load.Options{Time: 200 * time.Millisecond}, nil)
	ok(t, err)
	if len(s.Levels) != 4 || s.Levels[0].Threads != 1 || s.Levels[3].Ops[0].Parallel <= 0 || s.Fit.Err != nil {
		t.Errorf("%+v", s)
	}
	r, err := files.Fsync(t.Context(), files.FsyncConfig{Dir: dir, Time: aWhile(t, dir), Size: 4 << 20}, nil)
	ok(t, err)
	if len(r.Rows) != len(files.FsyncPlan()) {
		t.Fatalf("%d rows", len(r.Rows))
	}
	for _, m := range r.Rows {
		if m.Err != nil && !errors.Is(m.Err, scratch.ErrNoDirect) || m.Err == nil && m.Rate == 0 {
			t.Errorf("%s: %v, %.0f/s", m.Row.Name, m.Err, m.Rate)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*fsync*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// Direct I/O, the probe's counters and a full filesystem, on each of the
// filesystems that databases are put on.
func TestFilesystems(t *testing.T) {
	sandbox.NeedLong(t, "makes filesystems: run without -short")
	b := sandbox.ForTest(t, "")
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(kind, func(t *testing.T) {
			dir, err := b.Filesystem("load-"+kind, kind, 320, nil, "")
			sandbox.Need(t, err)
			c := config(dir, files.RandBoth)
			c.Direct, c.Validate = true, true
			_, err = files.Prepare(t.Context(), c, 2, nil)
			ok(t, err)
			res := run(t, c, load.Options{Threads: 4, Events: 1000})
			if res.Place.Type != kind || len(res.Place.Disks) != 1 || !strings.HasPrefix(res.Place.Disks[0].Through[0], "loop") {
				t.Errorf("place %+v", res.Place)
			}
			if res.Cache != nil && res.Cache.Part > 0.2 {
				t.Errorf("%.2f of direct reads came from memory", res.Cache.Part)
			}
			c.TotalSize = 2 << 30
			if _, err := files.Prepare(t.Context(), c, 2, nil); !errors.Is(err, scratch.ErrFull) {
				t.Errorf("too large: %v", err)
			}
			if _, err := files.NewIO(c); err == nil { // the old ones are still there, and of another size
				t.Error("files of another size were taken")
			}
			set, err := scratch.Open(dir, scratch.Load)
			ok(t, err)
			f, err := set.File(0, scratch.Flags{})
			ok(t, err)
			if err := fillUp(f); !errors.Is(err, scratch.ErrFull) {
				t.Errorf("a full filesystem: %v", err)
			}
			ok(t, f.Close())
			ok(t, set.Remove())
			r, err := files.Fsync(t.Context(), files.FsyncConfig{Dir: dir, Time: aWhile(t, dir), Rows: files.FsyncPlan()[:3], Size: 4 << 20}, nil)
			ok(t, err)
			for _, m := range r.Rows {
				if m.Err != nil || m.Rate == 0 {
					t.Errorf("%s: %v", m.Row.Name, m.Err)
				}
			}
			t.Log(r.Hints)
		})
	}
}

// fillUp writes until there is no room.
func fillUp(f *scratch.File) error {
	b := make([]byte, 4<<20)
	for at := int64(0); at < 2<<30; at += int64(len(b)) {
		if err := f.WriteAt(b, at); err != nil {
			return err
		}
	}
	return nil
}
