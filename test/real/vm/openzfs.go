package vm

import (
	"context"
	_ "embed" // the scripts
	"time"
)

//go:embed guest/openzfs.sh
var mariadbOnOpenZFS string

//go:embed guest/postgres.sh
var postgresOnOpenZFS string

// OpenZFS has the plumb binary check a MariaDB on a pool and leaves in a new or
// empty directory what it found, check.json, and a tape, host.tape.gz. The
// output begins with the version of OpenZFS.
func (m *Machine) OpenZFS(ctx context.Context, plumb, out string) (Result, error) {
	return m.Run(ctx, Script{In: []string{plumb}, Out: out, Line: mariadbOnOpenZFS, Deadline: 20 * time.Minute, Disks: []Disk{
		{Name: "data", Bytes: 4 << 30, IOPS: 3000}, {Name: "log", Bytes: 256 << 20}, {Name: "cache", Bytes: 1 << 30}}})
}

// OpenZFSPostgres does the same with a PostgreSQL, and leaves what was found
// after the pool had been made worse too, worse.json.
func (m *Machine) OpenZFSPostgres(ctx context.Context, plumb, out string) (Result, error) {
	return m.Run(ctx, Script{In: []string{plumb}, Out: out, Line: postgresOnOpenZFS, Deadline: 20 * time.Minute, Disks: []Disk{
		{Name: "data", Bytes: 4 << 30, IOPS: 3000}}})
}
