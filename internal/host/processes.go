package host

import (
	"context"
	"errors"
	"io/fs"
)

// OfProcesses lists what all processes have of a name: fd/* is what they have open. It asks one after the other, as a host can have more
// open than is listed at once. Those that have ended meanwhile, or may not be looked at, have nothing.
func OfProcesses(ctx context.Context, h Reader, name string) (all []string, err error) {
	processes, err := h.Glob(ctx, "/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, p := range processes {
		of, err := h.Glob(ctx, p+"/"+name)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}
