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
	"slices"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/group"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/load"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/units"
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

const (
	leastMemory = 256 << 20 // of a copy's server, in bytes
	downTime    = 2 * time.Minute
	logTail     = 1500 // bytes of its log in an error
)

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
		return "", hint.With(fmt.Errorf("there is a copy of the name %s already, in %s", name, dir), "plumb clone list shows it, if it is a clone; if it is a drill's, another Plumb is at it; what is neither is yours to move away")
	}
	return dir, nil
}

// make makes the directories, clones the snapshots into them, and neutralises the copy.
func (c *Copy) make(ctx context.Context, members []protect.Member) error {
	do := c.maker.Keeper.Do
	if err := c.book.Tree(ctx, inventory.Thing{Name: c.Dir, Life: c.life}, 0o711); err != nil {
		return fmt.Errorf("make the directory of the copy: %w", err)
	}
	if err := do.MakeDir(ctx, c.Root, 0o700, -1, -1); err != nil {
		return err
	}
	if c.Purpose != protect.ForBrowse {
		if err := do.MakeDir(ctx, c.Run, 0o700, c.Server.UID, c.Server.GID); err != nil {
			return err
		}
	}
	for _, m := range members {
		c.members = append(c.members, m)
		if err := c.clone(ctx, m); err != nil {
			return fmt.Errorf("clone %s: %w", m.Snapshot, err)
		}
	}
	if c.Purpose == protect.ForBrowse {
		if err := c.sealed(ctx); err != nil {
			return err
		}
		return c.open(ctx)
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	return c.engine.Neutralise(ctx, do, c.Copy)
}

// open lets the server's user into the copy. Until all is mounted nobody but root enters it: a clone's directories are his, and
// for one in which another is to be mounted he could put a link to any directory of this host in its place.
func (c *Copy) open(ctx context.Context) error {
	_, err := c.maker.Keeper.Do.Run(ctx, "chmod", "711", "--", c.Root)
	return err
}

// sealed lets nobody write to the copy, or run a program of it.
func (c *Copy) sealed(ctx context.Context) error {
	for _, m := range c.members {
		at := c.In(path.Clean(m.Mountpoint))
		if _, err := c.maker.Keeper.Do.Run(ctx, "mount", "-o", "remount,bind,ro,nosuid,nodev,noexec", "--", at); err != nil {
			return err
		}
		mounts, err := observe.MountTable(ctx, c.maker.Keeper.Do, "self")
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(mounts, func(m observe.Mount) bool { return m.Point == at && slices.Contains(m.Options, "ro") }) {
			return fmt.Errorf("%s is not mounted read-only", at)
		}
	}
	return nil
}

// clone clones one snapshot to where the server had its volume, below the copy's root.
// Members come with parents first, so that what is mounted in another finds its place there.
func (c *Copy) clone(ctx context.Context, m protect.Member) error {
	do := c.maker.Keeper.Do
	s, err := c.maker.Keeper.StorageOf(m.Volume)
	if err != nil {
		return err
	}
	at := c.In(path.Clean(m.Mountpoint))
	if err := c.way(ctx, at); err != nil {
		return err
	}
	if err := s.Clone(ctx, do, m, protect.CloneAt{Dir: at, Book: c.book, Life: c.life}); err != nil {
		return err
	}
	if err := c.mounted(ctx, at); err != nil || !c.stranger {
		return err
	}
	return c.given(ctx, at)
}

// way makes the directories that lead to a place in the copy.
func (c *Copy) way(ctx context.Context, to string) error {
	at := c.Root
	for name := range strings.SplitSeq(strings.TrimPrefix(to, c.Root+"/"), "/") {
		at = path.Join(at, name)
		_, err := c.maker.Keeper.Do.Readlink(ctx, at)
		if err == nil {
			return fmt.Errorf("%s is a link, and a directory was expected", at)
		}
		if st, err := c.maker.Keeper.Do.Stat(ctx, at); err == nil && st.Mode.IsDir() {
			continue
		}
		if err := c.maker.Keeper.Do.MakeDir(ctx, at, 0o755, -1, -1); err != nil {
			return err
		}
	}
	return nil
}

// mounted proves that a clone lies where the server will look: one started on an empty
// directory makes a new database there.
func (c *Copy) mounted(ctx context.Context, at string) error {
	in, err := c.maker.Keeper.Do.Stat(ctx, at)
	if err != nil {
		return err
	}
	above, err := c.maker.Keeper.Do.Stat(ctx, path.Dir(at))
	if err != nil {
		return err
	}
	// A copy of files on the filesystem that holds the copies is another mount of the same device.
	if in.DevMajor == above.DevMajor && in.DevMinor == above.DevMinor && in.MountID == above.MountID {
		return fmt.Errorf("the clone is not mounted on %s", at)
	}
	return nil
}

// thing makes a thing of the copy's, which lives as long as it.
func (c *Copy) thing(ctx context.Context, t inventory.Thing, make func(*inventory.Thing) error) error {
	t.Life = c.life
	_, err := c.book.Make(ctx, t, make)
	return err
}

// Start starts the server of a copy, closed, and waits until it answers: nobody but we can log in, and it has no network.
func (c *Copy) Start(ctx context.Context, within time.Duration) (load.Admin, error) {
	c.Closed = true
	return c.start(ctx, within)
}

// StartOpen starts the server of a copy for those who use it, with its accounts and a network. That of a stranger is closed all the same.
func (c *Copy) StartOpen(ctx context.Context, within time.Duration) (load.Admin, error) {
	c.Closed = c.stranger
	return c.start(ctx, within)
}

func (c *Copy) start(ctx context.Context, within time.Duration) (load.Admin, error) {
	p, stop, log, err := c.engine.Serve(c.Copy)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnstarted, err)
	}
	c.stopBy = stop
	p.Log = path.Join(c.Dir, "output.log") // not in Run, where its user could put a link in its place
	if err := c.begin(ctx, p); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnstarted, err)
	}
	a, err := c.answer(ctx, within)
	if err != nil {
		after := context.WithoutCancel(ctx) // why is also said when the time ran out
		err = full(fmt.Errorf("the copy of %s did not come up: %w%s", c.Server.Ref, c.Starved(after, unstarted(err)), c.tail(after, log, p.Log)))
		err = c.confined(after, err)
		return nil, errors.Join(err, c.book.Remove(after, c.process))
	}
	return a, nil
}

// begin starts a program of the copy, enclosed.
func (c *Copy) begin(ctx context.Context, p host.Process, more ...string) error {
	p, err := c.enclosed(ctx, p, more...)
	if err != nil {
		return err
	}
	t := inventory.Thing{Kind: inventory.Process, Proof: map[string]string{"argv": strings.Join(p.Argv, " ")}, Life: c.life}
	c.process, err = c.book.Make(ctx, t, func(t *inventory.Thing) (err error) {
		if c.running, err = c.maker.Keeper.Do.Start(ctx, p); err != nil {
			return err
		}
		return kinds.Proven(ctx, c.maker.Keeper.Do, t, c.running.PID())
	})
	return err
}

// Work runs a program on the files of a copy whose server does not run, enclosed as a closed server is. What it leaves running
// goes with it, also when it is killed: it has processes of its own.
func (c *Copy) Work(ctx context.Context, name string, argv ...string) (err error) {
	c.Closed = true
	log := path.Join(c.Dir, name+".log")
	p := host.Process{Argv: argv, Env: c.Server.Env, UID: c.Server.UID, GID: c.Server.GID, Log: log}
	if err := c.begin(ctx, p, "--pid", "--fork", "--kill-child", "--mount-proc"); err != nil {
		return err
	}
	select {
	case <-c.running.Done():
		err = c.running.Err()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w%s", name, c.Starved(ctx, err), c.tail(ctx, log, log))
	}
	c.running = nil
	return errors.Join(err, c.book.Remove(context.WithoutCancel(ctx), c.process))
}

// ErrStarved says that a copy's server was killed for want of memory, which says nothing of the point.
var ErrStarved = errors.New("the kernel killed it")

// Starved adds to an error that the copy's server was killed for want of memory, or had no room to write, if it was so.
func (c *Copy) Starved(ctx context.Context, err error) error {
	if err = full(err); err == nil || c.group == nil {
		return err
	}
	if n, known := c.group.Kills(ctx, c.maker.Keeper.Do); known && n > 0 {
		return fmt.Errorf("%w (%w, as it wanted more memory than the %s it was given: give it more)", err, ErrStarved, units.Bytes(c.memory))
	}
	return err
}

// Become has the next start of a copy be that of another server program, for which it is made harmless anew. Its server
// was stopped, and needs nothing any more by which it recovered.
func (c *Copy) Become(ctx context.Context, sv protect.Server) error {
	c.Server, c.Files, c.Position = sv, nil, protect.Position{}
	return c.engine.Neutralise(ctx, c.maker.Keeper.Do, c.Copy)
}

// answer waits until the server lets us in.
func (c *Copy) answer(ctx context.Context, within time.Duration) (a load.Admin, err error) {
	err = await.Answer(ctx, c.running, within, func(ctx context.Context) (err error) {
		a, err = c.engine.Open(ctx, c.Copy)
		return err
	})
	return a, err
}

// tail gives the end of the log that the server keeps in its own directory, or else of
// what it printed, which is in one of ours.
func (c *Copy) tail(ctx context.Context, theirs, ours string) string {
	text, err := c.maker.Keeper.Do.ReadFile(host.AsUser(ctx, c.Server.UID, c.Server.GID), theirs)
	if err != nil || len(strings.TrimSpace(string(text))) == 0 {
		text, err = c.maker.Keeper.Do.ReadFile(ctx, ours) // in a directory of ours
	}
	if err != nil || len(strings.TrimSpace(string(text))) == 0 {
		return ""
	}
	return "\n" + complaints(string(text[max(0, len(text)-logTail):]))
}

// Stop ends the server in an orderly way.
func (c *Copy) Stop(ctx context.Context) error {
	if c.running == nil {
		return nil
	}
	err := await.End(ctx, c.running, downTime, func() error { return c.running.Signal(c.stopBy) })
	if err != nil {
		err = fmt.Errorf("stop the copy of %s: %w", c.Server.Ref, err)
	}
	c.running = nil
	return errors.Join(err, c.book.Remove(context.WithoutCancel(ctx), c.process))
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

// Process is the number of the copy's process, and by what it is known again; 0 when there is none.
func (c *Copy) Process() (pid int, proof map[string]string) {
	if c.running == nil {
		return 0, nil
	}
	return c.running.PID(), map[string]string{"boot": c.process.Proof["boot"], "start": c.process.Proof["start"]}
}
