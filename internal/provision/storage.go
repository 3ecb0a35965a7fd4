package provision

import (
	"context"
	"fmt"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/provision/spec"
)

// Storage knows how pools, filesystems and datasets are made. It only reads the machine: what it
// gives is done, and taken back, by package change. An error that is a *change.Refusal says why
// something cannot be made here, and what helps.
type Storage interface {
	// Pool says what makes a pool. Every disk is read, and refused unless it is
	// proven to be empty or may be erased by name. The acts prove it again.
	Pool(ctx context.Context, h host.Reader, p spec.Pool, b Birth) (Making, error)
	// Disks refuses disks of which no pool can be made, where ZFS is yet to be installed: with it, the pool may be there.
	Disks(ctx context.Context, h host.Reader, p spec.Pool) error
	// Filesystem says what makes a filesystem, mounts it at a directory and has it
	// mounted by every start of the machine.
	Filesystem(ctx context.Context, h host.Reader, f spec.Filesystem, at string, b Birth) (Making, error)
	// Volume says what makes a dataset of ZFS, or a directory of a mounted
	// filesystem, and gives it to its owner. What lies above it must be made first:
	// the parent of a dataset is a Volume with no place to be mounted at.
	Volume(ctx context.Context, h host.Reader, v Volume, o Owner) (Making, error)
}

// Birth is what a pool or filesystem is made with, from the rules.
type Birth struct {
	Pool  map[string]string // properties of a pool: autotrim. Those of its disks (ashift) and of the pool's version are found here
	Root  map[string]string // properties of its first dataset, which the others inherit: compression, atime
	Mount []string          // options of a filesystem's mount: noatime
}

// Owner is whose a volume is.
type Owner struct {
	User, Group string
	Perm        uint32 // 0700 when 0
}

// Making is how one thing comes into being.
type Making struct {
	Acts []change.Act // none when all is as wanted already
	// Lasting are the parts that cannot be taken away once they are done, in words.
	Lasting []string
	// Notes are what a person should know before saying yes.
	Notes []string
	// Made is what the thing will be, as far as it can be said before: the ashift of
	// a pool, the sector size, stride and stripe width of a filesystem, its UUID.
	Made map[string]string
	// Proof looks, once its acts are done, whether all is well; an error takes them back. nil: nothing is to be proven.
	Proof func(ctx context.Context, h host.Reader) error
	// Read is how much of each disk is read to prove that nothing is on it, in bytes.
	Read int64
	// Room is how much it will hold at most, in bytes, if nothing is compressed; 0: that is not known, or it is there already.
	Room int64
}

// Done tells that all is as wanted already.
func (m Making) Done() bool { return len(m.Acts) == 0 }

// Words says whose a volume is as stat -c '%U:%G %a' does.
func (o Owner) Words() string {
	perm := o.Perm
	if perm == 0 {
		perm = 0o700
	}
	return fmt.Sprintf("%s:%s %o", o.User, o.Group, perm)
}
