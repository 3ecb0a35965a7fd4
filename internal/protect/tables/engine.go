package tables

import (
	"context"

	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
)

// Engine is what bringing tables back asks of a database product beyond [protect.Engine].
type Engine interface {
	// Place gives the target as which a server is asked about a database.
	Place(t host.Target, of Name) host.Target
	// Free says why a server does not take a table of a name: there is one, it lacks the
	// database, it does not let anybody write.
	Free(ctx context.Context, h host.Held, sv protect.Server, as Name) error
	// Carry reads from a copy what the table is, and gives how it is made elsewhere. What cannot
	// be made again is refused, or is one of the notes.
	Carry(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy, n Names) (Carried, error)
	// Drop removes a table, if it is there.
	Drop(of Name) string
}

// Names are those of a table on its way.
type Names struct {
	Of    Name // in the copy
	Aside Name // where it is made and filled
	As    Name // where it is in the end
}

// Carried is how a table is made in another server.
type Carried struct {
	Session []string // the session that does it is told this first
	Make    []string // the table aside
	Rows    host.Pipe
	End     byte     // of a row in what Rows gives
	Row     byte     // with which a row begins
	Insert  string   // the beginning of a statement that takes rows, with commas between them
	Finish  []string // when all rows are in
	Put     []string // gives it its name
	Undo    []string // removes it under its name
	There   string   // query: which table has the name; no row for none
	Is      string   // the answer once it was put
	Content func(Name) string
	Notes   []string // what does not come along
}
