package kinds

import (
	"context"
	"path"
	"slices"
	"strings"

	"plumb/internal/await"
	"plumb/internal/inventory"
)

// backing gives the file behind a loop device such as loop0, "" for none.
func (h holder) backing(ctx context.Context, name string) string {
	text, err := h.Do.ReadFile(ctx, path.Join("/sys/block", name, "loop/backing_file"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), " (deleted)")
}

// ownLoops gives the names of the loop devices of an entry that are there:
// the one it names, or when its lab died before it knew, all on our file.
func (h holder) ownLoops(ctx context.Context, e inventory.Entry) []string {
	file := e.Thing.Proof["file"]
	if file == "" {
		return nil
	}
	ours := []string{file, resolved(ctx, h.Do, file)}
	names := []string{path.Base(e.Thing.Name)}
	if !e.Whole {
		found, err := h.Do.Glob(ctx, "/sys/block/loop*")
		if err != nil {
			return nil
		}
		names = nil
		for _, f := range found {
			names = append(names, path.Base(f))
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(ours, h.backing(ctx, n)) })
}

// loop detaches a loop device. The kernel puts that off while somebody holds
// the device open.
func (h holder) loop(ctx context.Context, e inventory.Entry) error {
	name := path.Base(e.Thing.Name)
	if e.Whole && (e.Thing.Name != "/dev/"+name || !strings.HasPrefix(name, "loop")) {
		return foreign("it is not a loop device")
	}
	if len(h.ownLoops(ctx, e)) == 0 {
		if there := h.backing(ctx, name); e.Whole && there != "" {
			return foreign("its file is %s", there)
		}
		return nil
	}
	return await.Until(ctx, patience, func() (bool, error) {
		ours := h.ownLoops(ctx, e)
		if len(ours) == 0 {
			return true, nil
		}
		var err error
		for _, name := range ours {
			_, err = h.Do.Run(ctx, "losetup", "-d", "/dev/"+name)
		}
		return false, err
	})
}
