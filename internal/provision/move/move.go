package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/protect/service"
	"plumb/internal/provision"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Mover implements provision.Mover.
type Mover struct {
	Engines []protect.Engine // they tell where a server stands
	Dir     string           // of the journal: what was copied is written down beside it
	Fstab   string           // /etc/fstab, but for tests
	Within  time.Duration    // until the server must answer; ten minutes when 0
	Now     func() time.Time
}

var _ provision.Mover = Mover{}

// planning is a move that is being planned.
type planning struct {
	Mover
	provision.Move
	h      host.Reader
	tag    string
	before string // name of the data directory afterwards
	data   provision.Volume
	pairs  []change.Pair // that of the data first
	look   change.Inspection
	shows  string
	acts   []change.Act
	notes  []string
	engine protect.Engine
	asked  bool   // the server tells where its data are
	size   string // of the data, in words
}

// Move implements provision.Mover.
func (m Mover) Move(ctx context.Context, h host.Reader, s *stack.Stack, w provision.Move) (out provision.Making, err error) {
	p := planning{Mover: m, Move: w, h: h, tag: protect.NewID(m.Now()), size: "the data"}
	for _, step := range []func(context.Context) error{p.startable, p.plain, p.told, p.pair, p.room, p.list} {
		if err := step(ctx); err != nil {
			return out, fmt.Errorf("move the data of %s: %w", w.Home.Server, err)
		}
	}
	out.Acts = p.acts
	out.Notes = append(p.notes, fmt.Sprintf("%s is copied while the server runs; it is stopped only while what changed meanwhile is copied again", p.size),
		fmt.Sprintf("the old directory stays as %s, and takes its room until you remove it", p.before),
		"--undo copies back what was written since: that needs room there, and the server is stopped meanwhile")
	out.Proof, err = p.proof(ctx)
	return out, err
}

// startable refuses a server that could be stopped and not started again.
func (p *planning) startable(ctx context.Context) (err error) {
	if len(p.Stop) == 0 || len(p.Start) == 0 {
		return hint.With(errors.New("how it is stopped and started again is not known"), "let a systemd unit start it, or give --stop and --start")
	}
	if p.Home.PID == 0 {
		return errors.New("it has no process on this host")
	}
	if p.look, p.shows, err = service.Listening(p.Home.Target.Network, p.Home.Target.Address); err != nil {
		return err
	}
	return service.Seen(ctx, p.h, p.Home.Target)
}

// plain refuses data that are not in a directory that can be given another name.
func (p *planning) plain(ctx context.Context) error {
	mounts, err := observe.MountTable(ctx, p.h, "self")
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if paths.Within(m.Point, p.Home.Data) {
			return hint.With(fmt.Errorf("%s is mounted on %s", m.Source, m.Point), "Plumb moves data out of a plain directory: if they have a filesystem of their own, unmount it and mount it elsewhere first")
		}
	}
	st, err := p.h.Stat(ctx, p.Home.Data)
	if err != nil {
		return err
	}
	if st.Resolved != p.Home.Data || !st.Mode.IsDir() {
		return hint.With(fmt.Errorf("%s is a link, or not a directory", p.Home.Data), "configure the server with the real path of the directory")
	}
	return nil
}

// pair finds which directory goes where.
func (p *planning) pair(ctx context.Context) error {
	at := slices.IndexFunc(p.Volumes, func(v provision.Volume) bool { return v.Role == "data" && v.Aside != "" })
	if at < 0 {
		return fmt.Errorf("there is no volume for %s", p.Home.Data)
	}
	p.data = p.Volumes[at]
	if err := p.elsewhere(ctx); err != nil {
		return err
	}
	p.before = p.Home.Data + ".before-" + p.tag
	data := change.Pair{From: p.Home.Data, Aside: p.data.Aside, At: p.data.At, Before: p.before, Old: p.before}
	p.pairs = []change.Pair{data}
	for i, v := range p.Volumes {
		if i == at || v.Aside == "" {
			continue
		}
		n := slices.IndexFunc(p.Parts, func(q provision.Part) bool { return slices.Contains(q.Roles, v.Role) && q.At == v.At })
		if n < 0 {
			return fmt.Errorf("what goes to the volume at %s is not known", v.At)
		}
		part, below := p.Parts[n], ""
		if paths.Within(v.At, p.data.At) {
			below = strings.TrimPrefix(v.At, p.data.At+"/")
		}
		pair := change.Pair{From: v.At, Aside: v.Aside, At: v.At}
		switch {
		case len(part.Files) > 0:
			pair.From, pair.Old, pair.Only = p.Home.Data, p.before, part.Files
			p.pairs[0].Skip = append(p.pairs[0].Skip, part.Files...)
		case below != "" && !strings.Contains(below, "/"):
			pair.From, pair.Old = path.Join(p.Home.Data, below), path.Join(p.before, below)
			p.pairs[0].Skip = append(p.pairs[0].Skip, host.Verbatim(below))
		case below != "":
			return fmt.Errorf("%s is deeper in the data directory than a volume can be mounted", v.At)
		default:
			pair.Before = v.At + ".before-" + p.tag
			pair.Old = pair.Before
		}
		p.pairs = append(p.pairs, pair)
	}
	return nil
}

// room refuses a filesystem that the data do not fit on, before it is made or hours of copying find that out. On ZFS they may be
// compressed, so there it is only said.
func (p *planning) room(ctx context.Context) error {
	stored, err := observe.Stored(ctx, p.h, p.Home.Data)
	if errors.Is(err, host.ErrDenied) { // a plan of somebody who may not look into the data
		return nil
	}
	if err != nil {
		return err
	}
	p.size = units.Measured(float64(stored)) + " of data"
	why, err := p.less(ctx, stored)
	if err != nil || why == "" {
		return err
	}
	if p.data.Dataset == "" {
		return hint.With(errors.New(why), "make it larger, or delete data that nobody needs")
	}
	p.notes = append(p.notes, why+": they fit only if they compress well enough; otherwise the server keeps running where it is")
	return nil
}

// less says by what there is too little room for so many bytes; "" where that is not so, or cannot be seen yet.
func (p *planning) less(ctx context.Context, bytes int64) (string, error) {
	data := "the data take " + units.Measured(float64(bytes))
	st, err := p.h.Stat(ctx, p.data.Aside)
	if err != nil {
		if p.Room > 0 && bytes > p.Room {
			return fmt.Sprintf("%s, and their new place has room for %s at most", data, units.Measured(float64(p.Room))), nil
		}
		return "", nil
	}
	if now, err := p.h.Stat(ctx, p.Home.Data); err != nil || now.DevMajor == st.DevMajor && now.DevMinor == st.DevMinor {
		return "", err
	}
	room, err := p.h.Statfs(ctx, p.data.Aside)
	if err != nil {
		return "", fmt.Errorf("see how much room is at %s: %w", p.data.Aside, err)
	}
	if free := int64(room.AvailBytes); bytes > free {
		return fmt.Sprintf("%s, and at %s %s are free", data, p.data.Aside, units.Measured(float64(free))), nil
	}
	return "", nil
}

// elsewhere refuses another place for the data than theirs of now, unless root alone can put something there, and nothing is.
func (p *planning) elsewhere(ctx context.Context) error {
	at, now := p.data.At, p.Home.Data
	if at == now {
		return nil
	}
	if paths.Within(at, now) || paths.Within(now, at) {
		return fmt.Errorf("one of %s and %s is inside the other", at, now)
	}
	switch _, err := p.h.Stat(ctx, at); {
	case err == nil:
		return hint.With(fmt.Errorf("%s already exists", at), "name a directory that does not exist yet, or remove it if it is empty")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	err := change.RootsAlone(ctx, p.h, path.Dir(at))
	if errors.Is(err, fs.ErrNotExist) {
		err = hint.With(fmt.Errorf("check the directory above %s: %w", at, err), "create the directory above it first")
	}
	return err
}

// list lists what is done.
func (p *planning) list(ctx context.Context) error {
	phase := func(name string) {
		p.acts = append(p.acts, change.Act{Move: &change.Move{Phase: name, On: p.Home.Server.String(), List: path.Join(p.Dir, "moved-"+p.tag+".list"), Pairs: p.pairs}})
	}
	phase(change.MoveCopy)
	p.add(p.stopping())
	phase(change.MoveAside)
	inward := slices.SortedFunc(slices.Values(p.Volumes), func(a, b provision.Volume) int { return strings.Compare(b.Aside, a.Aside) })
	for _, v := range inward {
		if v.Aside != "" && v.Dataset != "" {
			p.add(unmount(v))
		}
	}
	apart := func(v provision.Volume) bool { return !paths.Within(v.At, p.data.At) }
	for _, v := range p.Volumes {
		if v.Aside != "" && apart(v) {
			if err := p.mount(ctx, v); err != nil {
				return err
			}
		}
	}
	p.acts = append(p.acts, p.Place...)
	for _, v := range slices.Backward(inward) {
		if v.Aside != "" && !apart(v) {
			if err := p.mount(ctx, v); err != nil {
				return err
			}
		}
	}
	p.acts = append(p.acts, p.Label...)
	phase(change.MoveGive)
	p.add(p.starting())
	return nil
}

func (p *planning) add(s change.Switch) { p.acts = append(p.acts, change.Act{Switch: &s}) }

// mount puts a volume in its place.
func (p *planning) mount(ctx context.Context, v provision.Volume) error {
	renamed := slices.ContainsFunc(p.pairs, func(q change.Pair) bool { return q.Before != "" && q.From == v.At })
	nested := v.At != p.data.At && paths.Within(v.At, p.data.At)
	switch {
	case nested: // it is there once the volume around it is mounted
	case renamed:
		p.add(mountPoint(v.At))
	default:
		err := provision.Bare(ctx, p.h, v.At)
		if errors.Is(err, fs.ErrNotExist) {
			p.add(mountPoint(v.At))
		} else if err != nil {
			return err
		}
	}
	if v.Dataset == "" {
		e := lasts(cmp.Or(p.Fstab, "/etc/fstab"), v)
		if _, err := edit.Set(e.Form, nil, e.Key, e.Value); err != nil {
			return hint.With(fmt.Errorf("have %s mounted at every boot: %w", v.At, err), "use a path without blanks as server.at, or use a ZFS pool")
		}
		reload, err := change.ReloadUnits(ctx, p.h) // systemd makes its mount units from fstab
		if err != nil {
			return err
		}
		e.Apply = reload
		p.add(bind(v))
		p.acts = append(p.acts, change.Act{Edit: e})
		return nil
	}
	p.add(mountpoint(v))
	p.add(mount(v))
	return nil
}
