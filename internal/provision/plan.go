// Package provision lays a host out from a spec: pool or filesystem, datasets by role, a server's
// data moved there, its settings. Every act is one of package change, so the journal holds all
// that taking it back needs. It knows no product and no storage; adapters implement its ports.
package provision

import (
	"context"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/provision/spec"
)

// Plan is all that will be done, in order.
type Plan struct {
	Spec   spec.Spec
	Stages []Stage
}

// Stage is what is done, and taken back, as one change of the journal.
type Stage struct {
	Name  string // "pool tank", "datasets of mariadb:3306", "move /var/lib/mysql"
	Why   string
	Steps []change.Prepared
	// Restart tells that what its steps wait for is done too.
	Restart bool
	Notes   []string // what a person should know before saying yes
	// Lasting are the parts that cannot be taken away once they are done, in words:
	// "a special vdev beside raidz cannot be removed".
	Lasting []string
	// Proof looks, once it is done, whether all is well; an error takes it back. nil: nothing is to be proven.
	Proof func(ctx context.Context, h host.Reader) error
	// Done tells that all of it is as the plan wants already.
	Done bool
}

// Volume is where data of one role of a server will lie.
type Volume struct {
	Role    string // as stack.Role names it: data, redo, binlog, wal …
	Dataset string // of ZFS; "": a directory or subvolume of the filesystem
	At      string // its mount point; "" of a parent, which holds nothing
	// Aside is where it is mounted until a server's data were moved there and it takes their place; "" when
	// nothing is to be moved.
	Aside string
	// Properties that it is made with, by name, from the rules.
	Properties map[string]string
}
