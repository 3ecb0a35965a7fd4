package kinds

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"plumb/internal/await"
	"plumb/internal/inventory"
)

// backing gives the file behind a loop device such as loop0, "" for none.
func (h holder) backing(ctx context.Context, name string) (string, error) {
	text, err := h.Do.ReadFile(ctx, path.Join("/sys/block", name, "loop/backing_file"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), " (deleted)"), err
}

// ownLoops gives the names of the loop devices of an entry that are there:
// the one it names, or when its lab died before it knew, all on our file.
func (h holder) ownLoops(ctx context.Context, e inventory.Entry) (own []string, err error) {
	file := e.Thing.Proof["file"]
	if file == "" {
		return nil, nil
	}
	ours := []string{file, resolved(ctx, h.Do, file)}
	devices := []string{e.Thing.Name}
	if !e.Whole {
		if devices, err = h.Do.Glob(ctx, "/sys/block/loop*"); err != nil {
			return nil, err
		}
	}
	for _, device := range devices {
		of, err := h.backing(ctx, path.Base(device))
		if err != nil {
			return nil, err
		}
		if slices.Contains(ours, of) {
			own = append(own, path.Base(device))
		}
	}
	return own, nil
}

// loop detaches a loop device. The kernel puts that off while somebody holds
// the device open.
func (h holder) loop(ctx context.Context, e inventory.Entry) error {
	name := path.Base(e.Thing.Name)
	if e.Whole && (e.Thing.Name != "/dev/"+name || !strings.HasPrefix(name, "loop")) {
		return foreign("it is not a loop device")
	}
	ours, err := h.ownLoops(ctx, e)
	if err != nil {
		return err
	}
	if len(ours) == 0 {
		there, err := h.backing(ctx, name)
		if err == nil && e.Whole && there != "" {
			err = foreign("its file is %s", there)
		}
		return err
	}
	return await.Until(ctx, patience, func() (bool, error) {
		ours, err := h.ownLoops(ctx, e)
		if len(ours) == 0 {
			return err == nil, err
		}
		for _, name := range ours {
			_, err = h.Do.Run(ctx, "losetup", "-d", "/dev/"+name)
		}
		return false, err
	})
}
