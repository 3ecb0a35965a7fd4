package volume

import (
	"context"
	"fmt"
	"path"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// device is a loop device on a file of ours.
type device struct {
	path   string // "/dev/loop0"
	number string // "7:0"
	file   string
	things []inventory.Thing // file, device
}

func (d device) name() string { return path.Base(d.path) }

// makeDevice makes a sparse file and a loop device on it, with direct I/O:
// without, everything would be in the page cache twice.
func makeDevice(ctx context.Context, b lab.Workspace, file string, size experiment.Bytes) (d device, err error) {
	d.file = file
	image, err := makeImage(ctx, b, file, size)
	if err != nil {
		return d, err
	}
	d.things = append(d.things, image)
	loop, err := b.Book.Make(ctx, inventory.Thing{Kind: inventory.Loop, Proof: map[string]string{"file": file}}, func(t *inventory.Thing) error {
		out, err := b.Do.Run(ctx, "losetup", "--find", "--show", "--direct-io=on", "--", file)
		if err != nil {
			return hint.With(err, "loop devices need /dev/loop-control and the module loop; a container has them only when it is privileged")
		}
		t.Name = strings.TrimSpace(string(out))
		return direct(ctx, b.Do, t.Name, file)
	})
	if err == nil {
		d.path = loop.Name
		d.things = append(d.things, loop)
		d.number, err = deviceNumber(ctx, b.Do, d.path)
	}
	if err == nil {
		err = lift(ctx, b.Do, b.Run, d.number)
	}
	if err != nil {
		return d, fmt.Errorf("make a loop device on %s: %w", file, firstOf(err, d.remove(context.WithoutCancel(ctx), b)))
	}
	return d, nil
}

func makeImage(ctx context.Context, b lab.Workspace, file string, size experiment.Bytes) (inventory.Thing, error) {
	t, err := b.Book.Make(ctx, inventory.Thing{Kind: inventory.File, Name: file}, func(*inventory.Thing) error {
		if err := b.Do.Replace(ctx, file, nil, 0o600); err != nil { // others must not read data through it
			return err
		}
		_, err := b.Do.Run(ctx, "truncate", "-s", fmt.Sprint(int64(size)), "--", file)
		return err
	})
	if err != nil {
		return t, fmt.Errorf("make a file of %s: %w", size, err)
	}
	return t, nil
}

// direct is an error when the kernel did not take direct I/O.
func direct(ctx context.Context, h host.Reader, loop, file string) error {
	text, err := h.ReadFile(ctx, path.Join("/sys/block", path.Base(loop), "loop/dio"))
	if err == nil && strings.TrimSpace(string(text)) != "1" {
		return hint.With(fmt.Errorf("the filesystem of %s has no direct I/O, and without it all data would be cached twice", file),
			"--dir names a directory on another filesystem: ext4, XFS or btrfs")
	}
	return err
}

func deviceNumber(ctx context.Context, h host.Reader, dev string) (string, error) {
	st, err := h.Stat(ctx, dev)
	return fmt.Sprintf("%d:%d", st.RdevMajor, st.RdevMinor), err
}

// remove takes the device and its file away.
func (d device) remove(ctx context.Context, b lab.Workspace) error {
	return removeThings(ctx, b, d.things)
}
