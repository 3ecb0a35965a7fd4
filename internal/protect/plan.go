package protect

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Plan is what a point of a server would be. Making one only reads.
type Plan struct {
	Server Server
	Target host.Target
	Set    Set
	Modes  []Mode // cheapest correct first
	Room   error  // why there is too little space, or a key is missing; nil when all is well
}

// Plan finds out what a point of a server would consist of, and how it could be taken.
func (k *Keeper) Plan(ctx context.Context, h host.Reader, s *stack.Stack, db stack.Ref) (p Plan, err error) {
	e, err := k.engine(db.Kind)
	if err != nil {
		return p, err
	}
	if p.Server, p.Target, err = e.Describe(ctx, h, s, db); err != nil {
		return p, fmt.Errorf("look at %s: %w", db, err)
	}
	if p.Set, err = k.findSet(ctx, h, s, e, p.Server); err != nil {
		return p, err
	}
	for _, storage := range k.Storages {
		if vols := of(storage, p.Set.Volumes); len(vols) > 0 && p.Room == nil {
			p.Room = storage.Room(s, vols)
		}
	}
	p.Modes, err = e.Modes(ctx, h, p.Target, s, p.Server, p.Set)
	if err != nil {
		return p, fmt.Errorf("find how a point of %s can be taken: %w", db, err)
	}
	return p, nil
}

// of returns the volumes that are on a storage.
func of(storage Storage, vols []Volume) (own []Volume) {
	for _, v := range vols {
		if v.Storage == storage.Name() {
			own = append(own, v)
		}
	}
	return own
}

// Choose returns the mode with a name. Without a name it returns the cheapest possible mode, leaving out those that are only used
// when somebody asks for them.
func (p Plan) Choose(name string) (Mode, error) {
	var why []string
	for _, m := range p.Modes {
		switch {
		case name != "" && m.Name != name:
		case m.Not != "":
			why = append(why, m.Name+": "+m.Not)
		case name == "" && (m.Asked || m.Name == ModeFreeze): // freeze stops the server: only for who says so
			why = append(why, m.Name+": only when it is asked for with --mode "+m.Name)
		default:
			return m, nil
		}
	}
	if why == nil {
		return Mode{}, hint.Usage(fmt.Sprintf("there is no mode %q", name), "use "+hint.OneOf([]string{ModeCrash, ModeLocked, ModeBackupAPI, ModeFreeze}))
	}
	return Mode{}, hint.With(fmt.Errorf("no point of %s can be taken: %s", p.Server.Ref, strings.Join(why, "; ")), "plumb snapshot --dry-run shows each mode, and what prevents it")
}

// Possible is an error if no point can be taken, whatever the mode.
func (p Plan) Possible() error {
	if len(p.Set.Strays) > 0 {
		s, help := p.Set.Strays[0], "move it to the filesystem of the data, or snapshot its storage with --with COMMAND"
		if len(p.Set.Volumes) == 0 {
			help = "plumb backup --command backs up the output of the server's own backup program; --with COMMAND snapshots the storage in your way"
		}
		return hint.With(fmt.Errorf("a point of %s would not include %s%s", p.Server.Ref, s, more(len(p.Set.Strays)-1)), cmp.Or(s.Hint, help))
	}
	if len(p.Set.Volumes) == 0 {
		return hint.With(fmt.Errorf("it is not known where %s keeps its data", p.Server.Ref), "run as root; plumb stack shows what is seen")
	}
	return p.Room
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}
