package change

import (
	"context"
	"fmt"

	"plumb/internal/host"
	"plumb/internal/host/mounts"
	"plumb/internal/host/paths"
	"plumb/internal/host/processes"
)

// covered tells whether something is mounted on a directory, and hides it.
func covered(ctx context.Context, d host.Reader, dir string) (bool, error) {
	if dir == "" {
		return false, nil
	}
	m, err := mounts.At(ctx, d, dir)
	return m != nil, err
}

// unmounted refuses a directory with something mounted on or below it.
func unmounted(ctx context.Context, d host.Reader, dir string) error {
	all, err := mounts.Read(ctx, d)
	if err != nil {
		return err
	}
	for _, m := range all {
		if paths.Within(m.Mountpoint, dir) {
			return &Refusal{Why: fmt.Sprintf("%s is mounted on %s", m.Source, m.Mountpoint), What: "unmount it first"}
		}
	}
	return nil
}

// unused refuses a directory in which a process works or has a file open. All processes must be seen where it is to be sure.
func unused(ctx context.Context, d host.Reader, dir string, sure bool) error {
	by, unseen, err := processes.Using(ctx, d, dir)
	switch {
	case err != nil:
		return fmt.Errorf("look who uses %s: %w", dir, err)
	case by != "":
		return &Refusal{Why: dir + " is in use by " + by, What: "stop that first"}
	case unseen != "" && sure:
		return &Refusal{Why: fmt.Sprintf("whether %s is in use cannot be seen: %s cannot be read", dir, unseen), What: "run plumb as root, and outside of a container"}
	}
	return nil
}
