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
	Warn     func(what string, err error) // is told what failed and keeps nothing from being done; nil for nobody
}

// Tell tells of what failed and keeps nothing from being done.
func (k *Keeper) Tell(what string, err error) {
	if k.Warn != nil && err != nil {
		k.Warn(what, err)
	}
}

// Machine is the door to the machine, for taking points.
type Machine interface {
	host.Launcher
	Hold(ctx context.Context, t host.Target) (host.Held, error)
}

// Freezer makes a server's processes stand still. Before it does, somebody else is there who
// lets them go on after limit, and at once when this process ends, however that is.
type Freezer interface {
	Freeze(ctx context.Context, d host.Launcher, sv Server, limit time.Duration) (Frozen, error)
}

// Frozen is a server that stands still.
type Frozen interface {
	// Whole is nil when it has stood still all the time.
	Whole(ctx context.Context) error
	// Thaw lets it go on.
	Thaw(ctx context.Context) error
}

// Heir gives back what a server keeps when our connection ends (Mode.Will).
type Heir interface {
	// Arm starts a process that is logged in to the server, and runs the statements after limit, and at once when this
	// process ends, however that is. With an error nobody is there.
	Arm(ctx context.Context, d host.Streamer, t host.Target, will []string, limit time.Duration) (Armed, error)
}

// Armed is an heir that waits.
type Armed interface {
	// End ends it: without a word when all was given back, which is an error when it did so before; otherwise it
	// gives back, and an error says that it could not.
	End(ctx context.Context, back bool) error
}

// EngineOf gives the engine of a kind of server.
func (k *Keeper) EngineOf(sv Server) (Engine, error) { return k.engine(sv.Ref.Kind) }

func (k *Keeper) engine(kind string) (Engine, error) {
	for _, e := range k.Engines {
		if e.Kind() == kind {
			return e, nil
		}
	}
	return nil, hint.With(fmt.Errorf("a %s has no points", kind), "points are taken of database servers that run on this host")
}

// StorageOf gives the storage of a volume.
func (k *Keeper) StorageOf(v Volume) (Storage, error) {
	for _, s := range k.Storages {
		if s.Name() == v.Storage {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s is on %s, which this plumb does not know", v.Name, v.Storage)
}
