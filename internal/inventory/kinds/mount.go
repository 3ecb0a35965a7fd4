package kinds

import (
	"context"
	"fmt"
	"path"
	"slices"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/inventory"
	"plumb/internal/observe"
)

// at gives what is mounted on a directory, the uppermost last.
func at(ctx context.Context, h host.Reader, point string) ([]observe.Mount, error) {
	all, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return nil, err
	}
	point = resolved(ctx, h, point)
	var here []observe.Mount
	for _, m := range all {
		if m.Point == point {
			here = append(here, m)
		}
	}
	return here, nil
}

// resolved follows links: the kernel lists mount points without them.
func resolved(ctx context.Context, h host.Reader, name string) string {
	if st, err := h.Stat(ctx, name); err == nil && st.Resolved != "" {
		return st.Resolved
	}
	return path.Clean(name)
}

func freeMount(ctx context.Context, d host.Doer, t inventory.Thing) error {
	here, err := at(ctx, d, t.Name)
	if err == nil && len(here) > 0 {
		err = fmt.Errorf("%s is mounted there already", here[len(here)-1].Source)
	}
	return err
}

// mount unmounts what is on top of a directory, as long as it is ours.
func (h holder) mount(ctx context.Context, e inventory.Entry) error {
	if !ordinary(e.Thing.Name) {
		return foreign("it is not a directory of a lab")
	}
	for _, argv := range [][]string{{"umount", e.Thing.Name}, {"umount", "-l", e.Thing.Name}} {
		err := await.Until(ctx, patience, func() (bool, error) {
			mine, err := h.ownMount(ctx, e)
			if err != nil || !mine {
				return true, err
			}
			_, err = h.Do.Run(ctx, argv...)
			return false, err // look again: there may have been two
		})
		if mine, look := h.ownMount(ctx, e); look == nil && !mine {
			return nil
		}
		if err != nil && (ctx.Err() != nil || argv[1] == "-l") {
			return err
		}
	}
	return nil
}

// ownMount tells whether our filesystem is on top of a directory. Another one
// there is inventory.ErrForeign, and one on top of ours an error.
func (h holder) ownMount(ctx context.Context, e inventory.Entry) (bool, error) {
	here, err := at(ctx, h.Do, e.Thing.Name)
	if err != nil || len(here) == 0 {
		return false, err
	}
	source, top := e.Thing.Proof["source"], here[len(here)-1].Source
	ours := func(m observe.Mount) bool { return source != "" && m.Source == source }
	switch {
	case ours(here[len(here)-1]):
		return true, nil
	case slices.ContainsFunc(here, ours):
		return false, fmt.Errorf("%s is mounted on top of it", top)
	}
	return false, foreign("what is mounted there is %s", top)
}

// mountsBelow gives the mount points in and below a directory.
func mountsBelow(ctx context.Context, h host.Reader, dir string) ([]string, error) {
	all, err := observe.MountTable(ctx, h, "self")
	dir = resolved(ctx, h, dir)
	var below []string
	for _, m := range all {
		if paths.Within(m.Point, dir) {
			below = append(below, m.Point)
		}
	}
	return below, err
}

// mountsOf gives where a source is mounted.
func mountsOf(ctx context.Context, h host.Reader, source string) ([]string, error) {
	all, err := observe.MountTable(ctx, h, "self")
	var points []string
	for _, m := range all {
		if m.Source == source {
			points = append(points, m.Point)
		}
	}
	return points, err
}
