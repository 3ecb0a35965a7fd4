// Package replay brings a copy of a point forward to a moment between points: it plays what the
// server wrote to its log since, into a copy without a network, and ends before the moment. The
// live server is only read.
package replay

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
)

// Engine is what replaying asks of a database product beyond [protect.Engine].
type Engine interface {
	// Way reads the log of a server from a position on, proves that nothing is missing in it,
	// and finds where a replay ends. It only reads.
	Way(ctx context.Context, d host.Streamer, sv protect.Server, from Start, to Target) (Way, error)
	// Stands reads where a copy stands that has just recovered: where the last transaction ends that is whole in its log, and so in it.
	Stands(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy) (protect.Position, error)
	// Replay plays a way into a copy, closed and just recovered, and proves that the copy
	// stands at its end.
	Replay(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy, w Way) error
	// Settle gives a copy that was stopped the names of its source's files again: it is
	// to take the source's place.
	Settle(ctx context.Context, d host.Streamer, c protect.Copy) error
}

// Recoverer is an Engine whose copies replay the log as they recover, and go on on a timeline of their own.
// Also a server that goes back to the point itself must get one: it would write its old one a second time.
type Recoverer interface {
	Engine
	// Prepare gives a copy, before its first start, what of the log it replays: nothing where the way
	// has no end. It opens a timeline that is newer than to.Newest.
	Prepare(ctx context.Context, d host.Streamer, c *protect.Copy, w Way, to Target) error
}

// Start is where a way begins, and what tells the log of that moment from another in which the place comes again.
type Start struct {
	protect.Position
	Apart bool      // its GTIDs were read later than its place, and others wrote meanwhile
	Until time.Time // it was read by then; zero where nobody knows
}

// Transaction is one entry of a log.
type Transaction struct {
	File   string    `json:"file"`
	Offset int64     `json:"offset"` // where it begins
	Time   time.Time `json:"time"`   // of its commit, in whole seconds
	GTID   string    `json:"gtid,omitempty"`
	What   string    `json:"what"` // statements that change tables, without their values
}

// Way is what is replayed.
type Way struct {
	From   protect.Position `json:"from"`
	Stop   protect.Position `json:"stop"`           // of the log: what begins here, or later, is not replayed; GTID: the last of each domain that is
	Files  []string         `json:"files"`          // of the log, absolute
	Last   string           `json:"last,omitempty"` // record that is replayed, where the log tells records
	Count  int              `json:"transactions"`
	Before []Transaction    `json:"before"` // the last that are replayed
	After  []Transaction    `json:"after"`  // the first that are not
	Notes  []string         `json:"notes,omitempty"`
	Cut    map[string]int64 `json:"-"` // how much of a file is replayed, by its name, where the server died in a transaction
}

// Near is how many transactions are shown on each side of a target.
const Near = 5

// EngineOf gives the engine of a server that can replay.
func EngineOf(k *protect.Keeper, sv protect.Server) (Engine, error) {
	e, err := k.EngineOf(sv)
	if err != nil {
		return nil, err
	}
	r, ok := e.(Engine)
	if !ok {
		return nil, hint.With(fmt.Errorf("the log of %s cannot be replayed by Plumb", sv.Product), "roll back to a point, or replay by hand into a plumb clone")
	}
	return r, nil
}

// StartOf gives where a copy of a point stands at least: a drill has found it further than what the server
// said just before.
func StartOf(p protect.Point) Start {
	s := Start{Position: p.Position, Apart: p.Mode != protect.ModeLocked || p.Fell() != "", Until: p.Times.Until()}
	if p.Drill != nil && p.Drill.OK && p.Drill.Position.LSN != "" {
		s.Position = p.Drill.Position
	}
	return s
}
