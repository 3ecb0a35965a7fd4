package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/identity"
	"plumb/internal/host/processes"
	"plumb/internal/units"
)

// Make makes a thing, under a name that nothing has yet.
type Make struct {
	Thing
	Directory *Dir `json:"directory,omitempty"` // of a Path
	// Do makes anything else. In its texts {mark} stands for a word that no other act has. A dataset gets it as
	// its property org.plumb:act; of anything else, what Inspect reads must contain it. So a thing that was made
	// just before a crash is recognised afterwards.
	Do []Op `json:"do,omitempty"`
	// Undo removes it, and should fail while others use it. It is run only if what is there is what was made.
	Undo []Op `json:"undo,omitempty"`
	// Absent fails if the thing may exist although Inspect does not see it: an exported pool is still on its
	// disks. It must also fail if it cannot look. {kept} stands for what Unchanged read, or "" if that was not
	// written down yet.
	Absent []Op `json:"absent,omitempty"`
	// Rest clears what Undo leaves: signatures on its disks. It is run again by an undo that continues one which
	// was killed, and by then somebody else may have used the disks: so it must itself prove that what it finds
	// is what was made.
	Rest []Op `json:"rest,omitempty"`
	// Empty lets undo remove it only while nothing is in it. That is always so for a Directory.
	Empty bool `json:"empty,omitempty"`
	// Unchanged lets undo remove it only while this reads the same as when it was made.
	Unchanged *Inspection `json:"unchanged,omitempty"`
	// Still must hold for undo to remove it. What the same change put into it has been taken out by then.
	Still *Still `json:"still,omitempty"`
	// Moved is given for a thing whose identity is known before Do runs, because Do only renames it, or is told
	// its UUID. It needs no mark.
	Moved *Moved `json:"moved,omitempty"`
	Spare
}

// Moved is what will be read of a thing once Do is done.
type Moved struct {
	Identity string `json:"identity"` // by Inspect
	State    string `json:"state"`    // by Unchanged
}

// Dir says what mode a new directory has and who owns it: -1 for the user and group that Plumb runs as.
type Dir struct {
	Perm fs.FileMode `json:"perm"`
	UID  int         `json:"uid"`
	GID  int         `json:"gid"`
}

// Kept is the exit status with which an operation of Undo says that it found something of others in the thing,
// where nothing can be seen from outside: in a filesystem that is not mounted. It has removed nothing, and its
// standard error says what it found.
const Kept = 99

// removePatience is how long an undo waits while what it removes is still in use: a server that has just
// ended holds its files for a moment.
const removePatience = 15 * time.Second

func (m *Make) found(ctx context.Context, k *Executor) (Made, bool, error) {
	id, err := m.identity(ctx, k.Doer)
	if err != nil {
		return Made{}, false, err
	}
	if id != None {
		return Made{}, false, taken(m.place())
	}
	return Made{Before: None, Mark: newMark()}, true, nil
}

// taken refuses a name that is in use.
func taken(place string) error {
	return &Refusal{Why: place + " already exists, and Plumb cannot undo what it did not make", What: "choose another name, or remove it first"}
}

func (m *Make) do(ctx context.Context, k *Executor, c *Change, p *Recorded) (string, error) {
	if m.Directory != nil {
		return "", m.directory(ctx, k, c, p)
	}
	ours, id, err := m.ours(ctx, k.Doer, p)
	switch {
	case err != nil:
		return "", err
	case id != None && !ours:
		return "", taken(m.place())
	case id == None:
		if err := m.run(ctx, k, p, m.Do); err != nil {
			return "", err
		}
		if ours, id, err = m.ours(ctx, k.Doer, p); err == nil && !ours {
			err = fmt.Errorf("%s was to be made, but is %s", m.place(), id)
		}
		if err != nil {
			return "", err
		}
	}
	state := ""
	if m.Unchanged != nil {
		if state, err = inspect(ctx, k.Doer, m.Unchanged.of(id)); err != nil {
			return "", err
		}
		if m.Moved != nil && state != m.Moved.State {
			return "", fmt.Errorf("%s was to be %s, but is %s", m.place(), m.Moved.State, state)
		}
	}
	return "", k.note(ctx, c, kindMade, result{N: p.N, Got: id, What: state})
}

// directory makes the directory under a name that only this act uses, and notes its identity before it gets
// its real name. So it is always known to be ours.
func (m *Make) directory(ctx context.Context, k *Executor, c *Change, p *Recorded) error {
	aside := m.aside(p.Made.Mark)
	if done, err := m.is(ctx, k.Doer, p.Identity); err != nil || done {
		return err
	}
	if err := k.Doer.Remove(ctx, aside.Path); err != nil { // of an earlier try, and empty
		return err
	}
	if err := k.Doer.MakeDir(ctx, aside.Path, m.Directory.Perm, m.Directory.UID, m.Directory.GID); err != nil {
		return err
	}
	return m.publish(ctx, k, c, p, "")
}

// ours tells whether what is there was made by the act.
func (m *Make) ours(ctx context.Context, d host.Doer, p *Recorded) (ours bool, id string, err error) {
	id, err = m.identity(ctx, d)
	switch {
	case err != nil || id == None:
	case p.Identity != "":
		ours = identity.Same(id, p.Identity)
	case m.Dataset != "":
		ours, err = marked(ctx, d, m.Dataset, p.Made.Mark)
	case m.Moved != nil:
		ours = id == m.Moved.Identity
	case m.Inspect != nil:
		ours = strings.Contains(id, p.Made.Mark)
	}
	return ours, id, err
}

// goneWithin is how long to wait for a command that could not be ended.
const goneWithin = 2 * time.Second

// ended proves that no command of an act that failed is still running. One that waits in the kernel cannot be ended, and
// would make the thing after the act counts as undone. What a Plumb that was killed left running is not looked for here:
// the lock of the journal is refused until that has ended.
func (k *Executor) ended(ctx context.Context, p *Recorded) error {
	m := p.Act.Make
	if m == nil || p.State != Failed {
		return nil
	}
	var commands [][]string
	for _, op := range m.Do {
		if len(op.Argv) > 1 {
			commands = append(commands, op.with("{mark}", p.Made.Mark, "{kept}", p.Kept).Argv)
		}
	}
	if commands == nil {
		return nil
	}
	return await.Until(ctx, goneWithin, func() (bool, error) {
		by, err := processes.Running(ctx, k.Doer, commands...)
		if by != "" {
			err = hint.With(fmt.Errorf("%s, which makes %s, has not ended yet", by, m.place()), "run it again once that has ended; a command that waits in the kernel for a disk ends when the machine is restarted, at the latest")
		}
		return by == "", err
	})
}

func (m *Make) drift(ctx context.Context, k *Executor, p *Recorded) (*Drift, error) {
	ours, id, err := m.ours(ctx, k.Doer, p)
	if err != nil || id == None {
		return nil, err
	}
	if !ours {
		if p.State != Done { // it was never made there
			return nil, nil
		}
		over, err := covered(ctx, k.Doer, m.Path)
		return &Drift{Place: m.place(), Want: "made by Plumb, " + p.Identity, Found: "another: " + id, Nested: over, Others: true}, err
	}
	if m.Empty || m.Directory != nil {
		in, err := m.contents(ctx, k.Doer)
		if err != nil {
			return nil, err
		}
		if len(in) > 0 {
			return &Drift{Place: m.place(), Want: "empty", Found: "not: it holds " + units.Some(in, 3), Nested: true, Others: true}, nil
		}
	}
	if d, err := m.Still.way(ctx, k, m.place()); err != nil || d != nil {
		if d != nil {
			d.Nested = true
		}
		return d, err
	}
	if now, changed, err := m.changed(ctx, k, p); err != nil || changed && m.Keep == nil {
		return &Drift{Place: m.place(), Want: m.kept(p), Found: now}, err
	}
	return nil, nil
}

// changed tells whether a thing is not Unchanged.
func (m *Make) changed(ctx context.Context, k *Executor, p *Recorded) (now string, changed bool, err error) {
	if m.Unchanged == nil || p.Identity == "" && m.Moved == nil {
		return "", false, nil
	}
	now, err = inspect(ctx, k.Doer, m.Unchanged.of(p.Identity))
	return now, now != m.kept(p), err
}

// kept is how a thing was when it was made.
func (m *Make) kept(p *Recorded) string {
	if m.Moved != nil {
		return m.Moved.State
	}
	return p.Kept
}

func (m *Make) undo(ctx context.Context, k *Executor, c *Change, p *Recorded, force bool) error {
	d, err := m.drift(ctx, k, p)
	if err := inTheWay(d.unless(force), err); err != nil {
		return err
	}
	if m.Directory != nil {
		if err := m.withdraw(ctx, k.Doer, p.Made.Mark, p.Identity); err != nil {
			return err
		}
		return k.Doer.Remove(ctx, m.aside(p.Made.Mark).Path)
	}
	gone := p.State == Undoing && p.Identity != "" // an undo that was killed may have come so far, and no further
	err = await.Until(ctx, removePatience, func() (bool, error) {
		ours, id, err := m.ours(ctx, k.Doer, p)
		if err == nil && id == None {
			err = m.absent(ctx, k, c, p)
		}
		if err != nil || !ours {
			return true, err
		}
		gone = true
		return m.remove(ctx, k, c, p, id)
	})
	if err != nil || !gone {
		return err
	}
	err = await.Until(ctx, removePatience, func() (bool, error) {
		err := m.run(ctx, k, p, m.Rest)
		return err == nil, err
	})
	if err != nil {
		err = hint.With(fmt.Errorf("%s is gone, and %w: %w", m.place(), errRemains, err), fmt.Sprintf("undo it again once nothing is in the way; plumb undo %d --forget leaves the rest as it is", c.Number))
	}
	return err
}

// absent proves that a thing which Inspect does not see does not exist. If the making failed by itself there is nothing
// to look for, and others may have something in its place.
func (m *Make) absent(ctx context.Context, k *Executor, c *Change, p *Recorded) error {
	if p.failed && !p.cut && p.Identity == "" {
		return nil
	}
	if err := m.run(ctx, k, p, m.Absent); err != nil {
		return hint.With(fmt.Errorf("%s is not seen, %w: %w", m.place(), errUnseen, err), fmt.Sprintf("bring it back and undo it again; plumb undo %d --forget leaves it as it is", c.Number))
	}
	return nil
}

// errUnseen is the error of an undo that has no proof that a thing is gone.
var errUnseen = errors.New("and may be there all the same")

// remove removes the thing, or puts it aside. final says that trying again would not help.
func (m *Make) remove(ctx context.Context, k *Executor, c *Change, p *Recorded, id string) (final bool, err error) {
	if m.Rest != nil && p.Identity == "" { // it was made just before a crash: who goes on with this undo must know that it was
		if err := k.note(ctx, c, kindMade, result{N: p.N, Got: id}); err != nil {
			return true, err
		}
		p.Identity = id
	}
	if err := m.run(ctx, k, p, m.undoing(p)); err != nil {
		if _, said, ok := strings.Cut(err.Error(), fmt.Sprintf("exit status %d: ", Kept)); ok {
			return true, &Drifted{[]Drift{{Place: m.place(), Want: "empty", Found: "not: " + said, Others: true}}}
		}
		return false, err
	}
	id, err = m.identity(ctx, k.Doer)
	if err == nil && id != None {
		err = fmt.Errorf("%s was to be removed, but is %s", m.place(), id)
	}
	return true, err
}

// undoing gives the operations that remove it, or put it aside.
func (m *Make) undoing(p *Recorded) []Op {
	if p.Spared() {
		return m.Keep
	}
	return m.Undo
}

// run does operations of an act that made a thing.
func (m *Make) run(ctx context.Context, k *Executor, p *Recorded, ops []Op) error {
	for _, op := range ops {
		if err := op.with("{mark}", p.Made.Mark, "{kept}", p.Kept).do(ctx, k.Doer); err != nil {
			return err
		}
	}
	return nil
}

// errRemains is the error of an undo that removed the thing but could not clear what is left of it.
var errRemains = errors.New("what is left of it was not cleared")

func (m *Make) known(made Made) error {
	err := m.Thing.known()
	switch {
	case err != nil:
		return err
	case !isMark(made.Mark):
		return unknown(fmt.Sprintf("a making of %s without a mark", m.place()))
	case (m.Directory != nil) != (m.Path != ""):
		return unknown(fmt.Sprintf("a making of %s that does not say what it is", m.place()))
	case m.Directory != nil:
		return nil
	case len(m.Do) == 0 || len(m.Undo) == 0:
		return unknown(fmt.Sprintf("a making of %s that does not say how it is made and removed", m.place()))
	}
	if m.Moved != nil && (m.Inspect == nil || m.Unchanged == nil) {
		return unknown(fmt.Sprintf("a moving of %s that does not say how it is known", m.place()))
	}
	if m.Unchanged != nil {
		err = m.Unchanged.known(m.place())
	}
	return errors.Join(err, m.Still.known(m.place()), known(m.Do), known(m.Undo), known(m.Absent), known(m.Rest), known(m.Keep))
}

func (m *Make) words(*Recorded) (before, after string) {
	if m.Directory != nil {
		if m.Directory.UID < 0 {
			return "not there", fmt.Sprintf("a directory, mode %04o", m.Directory.Perm)
		}
		return "not there", fmt.Sprintf("a directory of user %d and group %d, mode %04o", m.Directory.UID, m.Directory.GID, m.Directory.Perm)
	}
	return "not there", "made"
}

func (m *Make) back(p *Recorded) (ops []Op) {
	for _, op := range slices.Concat(m.undoing(p), m.Rest) {
		ops = append(ops, op.with("{mark}", p.Made.Mark))
	}
	return ops
}
