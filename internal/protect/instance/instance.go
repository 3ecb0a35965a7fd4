// Package instance starts a server on a copy of a point, and takes all of it away again.
//
// A copy lies below a directory of its own: the clones of the point's snapshots are
// mounted under root/ where the server had them, and run/ holds its configuration, socket
// and log. The process has mounts of its own, in which the directories of the server that
// was copied are covered: what was missed when the copy lost its identity fails, and
// touches nothing of the source. A closed copy has no network either.
package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/group"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
)

// Directory is where copies are. Their servers' users pass through it, so it is not
// below that of the journals.
const Directory = "/var/lib/plumb-copies"

// Maker makes copies.
type Maker struct {
	Keeper *protect.Keeper
	Dir    string // Directory, but for tests
}

// Options say what becomes of a copy.
type Options struct {
	Name    string // its own name: a part of paths, and of control groups
	Purpose protect.Purpose
	Port    int
	Number  int   // of the server
	Memory  int64 // bytes for the whole server; its cache gets half of that; 0: UsualMemory
	Source  *protect.Source
	Life    *inventory.Life  // why it is to outlive this run; nil: it goes with Close
	Of      []protect.Member // the snapshots of a recovered copy it is made of; the point's own when nil
	Gentle  bool             // it gives way to all else on the machine: processor and disk
	// Stranger is for a point of another host, whose word is not taken for what is run here: the program is one of
	// this host, the user is Account, and his are all files.
	Stranger bool
}

// UsualMemory is what the server of a copy may take where nobody said, in bytes. MySQL 9.7 does not start in less.
const UsualMemory = 512 << 20

// Copy is one copy of a point.
type Copy struct {
	protect.Copy
	Name string
	Dir  string

	maker    Maker
	engine   protect.Engine
	book     *inventory.Book
	life     *inventory.Life
	memory   int64
	gentle   bool
	group    *group.Group // nil where the machine lends none
	limits   []protect.Limit
	stranger bool
	members  []protect.Member
	running  host.Running
	process  inventory.Thing
	stopBy   host.Signal
}

const leastMemory = 256 << 20 // of a copy's server, in bytes

// Make makes the copy of a point, and neutralises it. It does not start it. With an
// error nothing is left.
func (m Maker) Make(ctx context.Context, p protect.Point, o Options) (c *Copy, err error) {
	if err := m.Keeper.Store.Trusted(); err != nil {
		return nil, err
	}
	e, err := m.Keeper.EngineOf(p.Server)
	if err != nil {
		return nil, err
	}
	if o.Of == nil {
		o.Of = p.Members
	} else {
		p.Files = nil // they were for the recovery
	}
	if err := m.There(ctx, o.Of); err != nil {
		return nil, err
	}
	if o.Purpose != protect.ForBrowse { // which only reads
		if err := m.roomy(ctx, o.Of); err != nil {
			return nil, err
		}
	}
	if o.Stranger {
		if p.Server, err = m.resettled(ctx, e, p.Server); err != nil {
			return nil, err
		}
	}
	_ = m.Sweep(ctx) // what cannot be taken away yet is in nobody's way but of the same name, which is refused
	dir, err := m.place(ctx, o.Name)
	if err != nil {
		return nil, err
	}
	c = &Copy{Name: o.Name, Dir: dir, maker: m, engine: e, life: o.Life, memory: max(cmp.Or(o.Memory, UsualMemory), leastMemory), gentle: o.Gentle, stranger: o.Stranger}
	c.Copy = protect.Copy{Server: p.Server, Files: p.Files, Position: p.Position, Purpose: o.Purpose, Root: path.Join(dir, "root"),
		Run: path.Join(dir, "run"), Port: o.Port, Memory: c.memory / 2, Number: o.Number, Source: o.Source}
	if c.book, err = kinds.Books(m.Keeper.Do, m.Keeper.Books).Open(ctx, o.Name); err != nil {
		return nil, err
	}
	if err := c.make(ctx, o.Of); err != nil {
		return nil, errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// There tells whether the snapshots of a point are still those that were taken.
func (m Maker) There(ctx context.Context, members []protect.Member) error {
	for _, one := range members {
		s, err := m.Keeper.StorageOf(one.Volume)
		if err != nil {
			return err
		}
		st, err := s.State(ctx, m.Keeper.Do, one)
		if err != nil {
			return fmt.Errorf("look for the snapshot %s: %w", one.Snapshot, err)
		}
		if err := st.Usable(one); err != nil {
			return err
		}
	}
	return nil
}

// place names the directory of a copy, which must not be one in which others can
// rename things.
func (m Maker) place(ctx context.Context, name string) (string, error) {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		return "", hint.Usage(fmt.Sprintf("%q is not a valid name for a copy", name), "use letters, digits, - and _")
	}
	if _, err := m.Keeper.Do.Run(ctx, "mkdir", "-p", "-m", "711", "--", m.Dir); err != nil {
		return "", err
	}
	dir, err := host.OnlyOurs(m.Dir)
	if err != nil {
		return "", err
	}
	dir = path.Join(dir, name)
	if _, err := m.Keeper.Do.Stat(ctx, dir); err == nil {
		return "", hint.With(fmt.Errorf("a copy named %s already exists, in %s", name, dir), "if it is a clone, plumb clone list shows it; if it is a drill's, another Plumb is using it; if it is neither, move it away yourself")
	}
	return dir, nil
}

// Remove takes away all that was made of a copy.
func (c *Copy) Remove(ctx context.Context) error {
	var left error
	if c.stranger {
		left = endAll(ctx, c.maker.Keeper.Do, c.Server.UID)
	}
	err := errors.Join(left, c.book.Close(ctx))
	if c.life == nil || err != nil {
		return err
	}
	return c.maker.Keeper.Forgo(ctx, c.life.Owner, nil)
}

// Leave lets a copy that is to live go on without us.
func (c *Copy) Leave(ctx context.Context) error { return c.book.Close(ctx) }
