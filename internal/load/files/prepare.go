package files

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"plumb/internal/draw"
	"plumb/internal/host/scratch"
	"plumb/internal/units"
)

// filePrefix is sysbench's.
const filePrefix = "test_file."

const prepareChunk = 1 << 20

// Prepared says what Prepare made.
type Prepared struct {
	Files int
	Bytes int64
	Old   bool // they were there already, as asked for
}

// Prepare makes the test files, several at a time, with new content, and
// syncs them. When that does not succeed they are removed again. Files that are there as asked for are left as they are; others
// that Plumb made are made anew; what Plumb did not make stops it. The
// progress, which may be nil, is called by several goroutines.
func Prepare(ctx context.Context, c IOConfig, threads int, progress func(done, total int64)) (Prepared, error) {
	if err := c.check(); err != nil {
		return Prepared{}, err
	}
	out := Prepared{Files: c.Files, Bytes: c.Bytes()}
	old, err := scratch.Open(c.Dir, scratch.Load)
	switch {
	case err == nil && c.Mode != SeqWrite && matches(old.Manifest, c) == nil:
		out.Old = true
		return out, nil
	case err == nil:
		if err := replaceable(old, c); err != nil {
			return Prepared{}, err
		}
	case !errors.Is(err, scratch.ErrNoSet):
		return Prepared{}, err
	}
	set, err := makeSet(c)
	if err != nil || c.Mode == SeqWrite {
		return out, err
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	if err := fillAll(ctx, set, c, max(1, threads), progress); err != nil {
		return Prepared{}, errors.Join(err, set.Remove())
	}
	set.Manifest.Filled = true
	return out, set.Save()
}

// replaceable removes old files when there is room for new ones then.
func replaceable(old *scratch.Set, c IOConfig) error {
	if err := fits(c, old.Manifest.Size*int64(len(old.Manifest.Files))); err != nil {
		return err
	}
	return old.Remove()
}

// fits is an error when the files have no room, with what is there already.
func fits(c IOConfig, there int64) error {
	return scratch.Fits(c.Dir, c.Bytes()+c.Bytes()/50-there) // 2 % for what describes them
}

func makeSet(c IOConfig) (*scratch.Set, error) {
	if err := fits(c, 0); err != nil {
		return nil, err
	}
	names := make([]string, c.Files)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", filePrefix, i)
	}
	m := scratch.Manifest{Purpose: "fileio", Seed: c.Seed, Block: c.BlockSize, Size: c.fileSize(), Compressible: c.Compressible}
	return scratch.Make(c.Dir, scratch.Load, m, names)
}

// openFor finds the files for a run.
func openFor(c IOConfig) (*scratch.Set, error) {
	set, err := scratch.Open(c.Dir, scratch.Load)
	if errors.Is(err, scratch.ErrNoSet) && c.Mode == SeqWrite {
		return makeSet(c)
	}
	if err != nil {
		return nil, err
	}
	if c.Mode == SeqWrite && len(set.Manifest.Files) == c.Files && set.Manifest.Purpose == "fileio" {
		set.Manifest.Filled, set.Manifest.Block, set.Manifest.Size = false, c.BlockSize, c.fileSize()
		return set, nil
	}
	return set, matches(set.Manifest, c)
}

// matches is an error when prepared files are not those that c asks for.
func matches(m scratch.Manifest, c IOConfig) error {
	switch {
	case m.Purpose != "fileio":
		return fmt.Errorf("the test files in %s are for %s: clean up there first", c.Dir, m.Purpose)
	case !m.Filled:
		return fmt.Errorf("the test files in %s are incomplete: prepare again", c.Dir)
	case len(m.Files) != c.Files || m.Size != c.fileSize():
		return fmt.Errorf("%s in %s, of %d bytes each, but you asked for %d of %d: give the same --file-num and --file-total-size, or prepare again",
			units.Counted(len(m.Files), "test file", "is", "are"), c.Dir, m.Size, c.Files, c.fileSize())
	case c.Validate && m.Block != c.BlockSize:
		return fmt.Errorf("the test files in %s were prepared with blocks of %d bytes: --validate needs the same", c.Dir, m.Block)
	}
	return nil
}

func fillAll(ctx context.Context, set *scratch.Set, c IOConfig, threads int, progress func(done, total int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, done atomic.Int64
	var group sync.WaitGroup
	for range min(threads, c.Files) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(c.Files) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := fillOne(ctx, set, c, int(i), func(n int64) { progress(done.Add(n), c.Bytes()) }); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// fillOne writes one file past the cache where it can, and otherwise through
// it, forgetting the pages afterwards.
func fillOne(ctx context.Context, set *scratch.Set, c IOConfig, i int, wrote func(int64)) (err error) {
	f, err := set.File(i, scratch.Flags{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Preallocate(c.fileSize()); err != nil {
		return err
	}
	blocks := max(1, prepareChunk/c.BlockSize)
	b := make([]byte, blocks*c.BlockSize)
	perFile := c.fileSize() / c.BlockSize
	for block := int64(0); block < perFile; block += blocks {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := min(blocks, perFile-block)
		for k := range n {
			one := b[k*c.BlockSize : (k+1)*c.BlockSize]
			draw.Content(one, c.Seed, int64(i), block+k, c.Compressible)
			name(one, int64(i)*perFile+block+k, 0, true)
		}
		if err := f.WriteAt(b[:n*c.BlockSize], block*c.BlockSize); err != nil {
			return err
		}
		wrote(n * c.BlockSize)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.DropCache()
}

// Cleanup removes the test files that Plumb made in a directory, and nothing
// else. It gives how many there were.
func Cleanup(dir string) (int, error) {
	set, err := scratch.Open(dir, scratch.Load)
	if err != nil {
		return 0, err
	}
	return len(set.Manifest.Files), set.Remove()
}

// Adopt takes the test files of a directory that was copied as a whole for
// ones that Prepare made there.
func Adopt(dir string) error {
	set, err := scratch.Open(dir, scratch.Load)
	if err != nil {
		return err
	}
	return set.Adopt()
}
