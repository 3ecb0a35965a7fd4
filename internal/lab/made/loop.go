package made

import (
	"context"
	"path"
	"slices"
	"strings"
)

// backing gives the file behind a loop device such as loop0, "" for none.
func (h holder) backing(ctx context.Context, name string) string {
	text, err := h.d.ReadFile(ctx, path.Join("/sys/block", name, "loop/backing_file"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), " (deleted)")
}

// ownLoops gives the names of the loop devices of an entry that are there:
// the one it names, or when its lab died before it knew, all on our file.
func (h holder) ownLoops(ctx context.Context, e entry) []string {
	file := e.thing.Proof["file"]
	if file == "" {
		return nil
	}
	ours := []string{file, resolved(ctx, h.d, file)}
	names := []string{path.Base(e.thing.Name)}
	if !e.whole {
		found, err := h.d.Glob(ctx, "/sys/block/loop*")
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
func (h holder) loop(ctx context.Context, e entry) error {
	name := path.Base(e.thing.Name)
	if e.whole && (e.thing.Name != "/dev/"+name || !strings.HasPrefix(name, "loop")) {
		return foreign("it is no loop device")
	}
	if len(h.ownLoops(ctx, e)) == 0 {
		if there := h.backing(ctx, name); e.whole && there != "" {
			return foreign("its file is %s", there)
		}
		return nil
	}
	return until(ctx, patience, func() (bool, error) {
		ours := h.ownLoops(ctx, e)
		if len(ours) == 0 {
			return true, nil
		}
		var err error
		for _, name := range ours {
			_, err = h.d.Run(ctx, "losetup", "-d", "/dev/"+name)
		}
		return false, err
	})
}
