package provision

import (
	"context"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// Engine knows how one kind of server keeps its data. It only reads.
type Engine interface {
	// Kind is that of its things in the stack.
	Kind() string
	// Home says where a server that runs keeps its data, and which of it may lie apart.
	Home(ctx context.Context, h host.Reader, s *stack.Stack, server stack.Ref) (Home, error)
	// Place gives the acts that tell a server where a part of its data lies from its next start
	// on; none where it finds it by itself. They are done while it is stopped.
	Place(ctx context.Context, h host.Reader, s *stack.Stack, server stack.Ref, part Part) ([]change.Act, error)
	// Elsewhere gives the acts that tell a server that all of its data directory is at another place from its next start on. It
	// refuses a server that is told of the old one in a way that would stay.
	Elsewhere(ctx context.Context, h host.Reader, s *stack.Stack, home Home, at string) ([]change.Act, error)
	// Accounts says what closes the ways into a server that nobody has data in yet, and what makes the databases that
	// are wanted and not there.
	Accounts(ctx context.Context, h host.Reader, s *stack.Stack, home Home, want []spec.Database) (Making, error)
}

// Home is where a server keeps its data.
type Home struct {
	Server   stack.Ref
	Flavor   string // of package product: mariadb, postgres
	Version  string
	Data     string // its data directory, without links
	UID, GID int    // it runs as
	Unit     string // of systemd, which starts and stops it; "" when none does
	Program  string // its absolute path
	Label    string // what SELinux calls its data
	PID      int
	Target   host.Target
	Parts    []Part
}

// Part is what of a data directory may lie on a volume of its own.
type Part struct {
	Name  string   // of its volume: log, wal
	Roles []string // as stack.Role names them: redo, wal
	At    string   // where its volume is mounted
	// Files are patterns, as of path.Match, of what goes there from the data directory; none where At
	// lies in the data directory, and all in it is the part.
	Files []string
	Now   string // where it lies
}
