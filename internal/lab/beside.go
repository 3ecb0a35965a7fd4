package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/load/files"
)

// besideBlock is what the copy writes in one call.
const besideBlock = 1 << 20

// beside begins what goes on beside the load, and gives what ends it.
func (b *bench) beside(ctx context.Context) (stop func() error, err error) {
	if b.setup.Beside == nil {
		return func() error { return nil }, nil
	}
	dir := filepath.Join(filepath.Dir(b.data), "beside")
	if _, err := b.lab.Box.Do.Run(ctx, "mkdir", "-p", dir); err != nil {
		return nil, err
	}
	tidy := context.WithoutCancel(ctx)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- b.copies(ctx, dir) }()
	return func() error {
		cancel()
		err := <-done
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		if err != nil {
			err = fmt.Errorf("the copy beside the load: %w", err)
		}
		return errors.Join(err, host.RemoveTree(tidy, b.lab.Box.Do, dir))
	}, nil
}

// copies writes a large file through the page cache, as cp and a backup do,
// again and again, and never syncs it: when it is written out is the kernel's
// affair, and that is what is looked at.
func (b *bench) copies(ctx context.Context, dir string) error {
	var pause time.Duration
	if every := b.setup.Beside.Every; every != "" {
		var err error
		if pause, err = time.ParseDuration(every); err != nil {
			return err
		}
	}
	c := files.DefaultIO()
	c.Dir, c.Mode, c.Files, c.TotalSize, c.BlockSize = dir, files.SeqWrite, 1, int64(b.setup.Beside.Size), besideBlock
	c.FsyncFreq, c.FsyncEnd = 0, false
	for ctx.Err() == nil {
		if err := copyOnce(ctx, c); err != nil {
			return err
		}
		_ = await.Pause(ctx, pause)
	}
	return nil
}

func copyOnce(ctx context.Context, c files.IOConfig) error {
	w, err := files.NewIO(c)
	if err != nil {
		return err
	}
	res, err := load.Run(ctx, w, load.Options{Threads: 1, Events: c.TotalSize / c.BlockSize})
	if err == nil && ctx.Err() == nil {
		err = res.Ended
	}
	return errors.Join(err, w.Close())
}
