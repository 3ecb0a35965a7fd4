package change

import (
	"context"

	"plumb/internal/host"
)

// RootsAlone refuses a directory in which, or above which, another user could put something else in the place of what is made
// there: a link would lead root anywhere. In a sticky directory such as /tmp nobody can, as long as what is made stays root's.
func RootsAlone(ctx context.Context, h host.Reader, dir string) error {
	stat := func(name string) (host.Stat, error) { return h.Stat(ctx, name) }
	st, err := stat(dir)
	if err != nil {
		return err
	}
	if !st.Mode.IsDir() || st.Resolved != dir {
		return Refuse("name a place whose path has no links", "%s is not a directory, or is a link", dir)
	}
	at, how, err := host.Replaceable(dir, stat)
	if err == nil && how != "" {
		err = Refuse("name a place in a directory that only root can write to", "the directory %s %s, who could put a link in it", at, how)
	}
	return err
}

// staysInPlace is RootsAlone for what is given to another user once it is made: in a sticky directory he could replace it.
func staysInPlace(ctx context.Context, h host.Reader, dir string) error {
	if err := RootsAlone(ctx, h, dir); err != nil {
		return err
	}
	st, err := h.Stat(ctx, dir)
	if err == nil && st.Mode&0o022 != 0 {
		err = Refuse("name a place in a directory that only root can write to", "users other than root can write to the directory %s, and could replace what is made there", dir)
	}
	return err
}
