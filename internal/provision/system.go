package provision

import (
	"context"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/provision/spec"
)

// System is the host's own ways: packages, units, timers, profiles and labels. It only reads.
type System interface {
	// Source says what enters the repository of a server's makers among the system's sources of packages, for a version of it.
	Source(ctx context.Context, h host.Reader, vendor, version string) (Making, error)
	// Packages says what installs a server of a flavour ("": none), from the system's sources or those of a vendor, and ZFS, where they are
	// missing.
	Packages(ctx context.Context, h host.Reader, flavor, version, vendor string, zfs bool) (Making, error)
	// Pool says what has a pool scrubbed from time to time, and trimmed where its disks take that.
	Pool(ctx context.Context, h host.Reader, pool spec.Pool) (Making, error)
	// Filesystem says what has a filesystem trimmed from time to time, where its device takes that.
	Filesystem(ctx context.Context, h host.Reader, f spec.Filesystem) (Making, error)
	// Places gives what a server needs beside its files to use volumes: that it waits for their mounts, and that a
	// profile lets it in.
	Places(ctx context.Context, h host.Reader, home Home, volumes []Volume) ([]change.Act, error)
	// Labels gives what labels the volumes as the server's, once they are in their places.
	Labels(ctx context.Context, h host.Reader, home Home, volumes []Volume) ([]change.Act, error)
}
