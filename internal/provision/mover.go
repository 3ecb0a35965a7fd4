package provision

import (
	"context"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Mover knows how a server's data get to volumes that are made. It only reads.
type Mover interface {
	// Move says what moves a server: all of its data directory to the volume of the role data, and what a
	// part has to the part's volume. What is done is one change of the journal, and undoing it copies
	// back what was written since.
	Move(ctx context.Context, h host.Reader, s *stack.Stack, m Move) (Making, error)
}

// Move is a server on its way to volumes.
type Move struct {
	Home    Home
	Volumes []Volume // made, and mounted at Aside until the move mounts them At
	Parts   []Part   // what goes to the volumes that are not of the role data
	// Place is done while the server is stopped: it tells the server where the parts lie.
	Place []change.Act
	// Label is done once all volumes are in their places, before the server is let in.
	Label       []change.Act
	Stop, Start []string // the commands: each returns when it is done
	// Room is how much the place of the data will hold at most, in bytes, where it is not there yet; 0: not known.
	Room int64
}
