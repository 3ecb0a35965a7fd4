package protect

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Keeper takes points and looks after them.
type Keeper struct {
	Do       Machine
	Engines  []Engine
	Storages []Storage
	Store    Store
	Freezer  Freezer
	Heir     Heir
	Books    string // directory of the inventory
	Plumb    string // version
	Host     string // name of this machine
	Now      func() time.Time
	Warn     func(what string, err error) // is called with failures that do not stop the work; may be nil
}

// Tell reports a failure that does not stop the work. It does nothing when err is nil.
func (k *Keeper) Tell(what string, err error) {
	if k.Warn != nil && err != nil {
		k.Warn(what, err)
	}
}

// Machine is what taking points needs of the host.
type Machine interface {
	host.Launcher
	Hold(ctx context.Context, t host.Target) (host.Held, error)
}

// Freezer stops all of a server's processes. Before it does, it starts a process of its own that lets them go on after limit,
// and at once when this process ends, whatever it ends of.
type Freezer interface {
	Freeze(ctx context.Context, d host.Launcher, sv Server, limit time.Duration) (Frozen, error)
}

// Frozen is a server that stands still.
type Frozen interface {
	// Whole is nil if the server has stood still ever since.
	Whole(ctx context.Context) error
	// Thaw lets it go on.
	Thaw(ctx context.Context) error
}

// Heir gives back what the server does not give back by itself when our connection ends (Mode.Will).
type Heir interface {
	// Arm starts a process that logs in to the server and waits. It runs the statements after limit, and at once when this
	// process ends, whatever it ends of. If Arm fails, no such process is left.
	Arm(ctx context.Context, d host.Streamer, t host.Target, will []string, limit time.Duration) (Armed, error)
}

// Armed is an heir that waits.
type Armed interface {
	// End ends the heir. With back, the caller has given everything back, and nothing is left to do: it is an error if the heir
	// ran its statements before. Without, the heir runs them now, and the error says why it could not.
	End(ctx context.Context, back bool) error
}

// EngineOf returns the engine for a server.
func (k *Keeper) EngineOf(sv Server) (Engine, error) { return k.engine(sv.Ref.Kind) }

func (k *Keeper) engine(kind string) (Engine, error) {
	for _, e := range k.Engines {
		if e.Kind() == kind {
			return e, nil
		}
	}
	return nil, hint.With(fmt.Errorf("points of a %s cannot be taken", kind), "points are taken of database servers that run on this host")
}

// StorageOf returns the storage a volume is on.
func (k *Keeper) StorageOf(v Volume) (Storage, error) {
	for _, s := range k.Storages {
		if s.Name() == v.Storage {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s is on %s, which this plumb does not know", v.Name, v.Storage)
}
