package observe

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"

	"plumb/internal/host"
)

// DropIns lists the files of several directories whose names end in .conf, in the
// order of their names, as systemd, sysctl and modprobe read them: a file hides
// those of its name in later directories. With an error it gives those of the
// directories that could be read.
func DropIns(ctx context.Context, h host.Reader, dirs ...string) ([]string, error) {
	first := map[string]string{}
	var all error
	for _, dir := range dirs {
		names, err := h.Glob(ctx, path.Join(dir, "*.conf"))
		all = errors.Join(all, err)
		for _, name := range names {
			if base := path.Base(name); first[base] == "" {
				first[base] = name
			}
		}
	}
	var files []string
	for _, base := range slices.Sorted(maps.Keys(first)) {
		files = append(files, first[base])
	}
	return files, all
}
