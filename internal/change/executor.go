package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/tree"
)

// Directory is where journals are kept: one file for each change, and a lock, because only one process writes.
const Directory = "/var/lib/plumb"

// journals matches the names of the journals in there.
const journals = "change-*.journal"

// Executor changes a host, and keeps the journal of it.
type Executor struct {
	Doer  host.Doer
	Dir   string // Directory, but for tests
	Plumb string // version
	Now   func() time.Time
	// Guard is an error that says why the journals cannot be trusted: somebody else could have written to them what
	// an undo would run. nil: they are trusted.
	Guard func(dir, pattern string) error
	// Waits is told what does not show at once, and how long it may take, so that nobody wonders. nil: nobody is.
	Waits func(on, until string, most time.Duration)
}

// NewExecutor keeps the journal in Directory.
func NewExecutor(d host.Doer, plumb string) *Executor {
	return &Executor{Doer: d, Dir: Directory, Plumb: plumb, Now: time.Now}
}

// Trusted says why the journals are not to be acted on, or nil.
func (k *Executor) Trusted() error {
	if k.Guard == nil {
		return nil
	}
	return k.Guard(k.Dir, journals)
}

// lock makes this process the only writer.
func (k *Executor) lock(ctx context.Context) (func(), error) {
	if err := k.Trusted(); err != nil {
		return nil, err
	}
	unlock, err := k.Doer.Lock(ctx, k.lockFile())
	if errors.Is(err, host.ErrLocked) {
		err = host.HeldBy(err, "another Plumb is changing this host", "wait until it has ended; plumb history shows what it does")
		return nil, &Refusal{Why: err.Error(), What: hint.Of(err), of: err}
	}
	if err != nil {
		return nil, k.unwritten(err)
	}
	if err = k.Trusted(); err != nil { // the lock has made the directory, or somebody before it
		unlock()
	}
	return unlock, err
}

// unwritten adds to the error of writing the journal what a person can do.
func (k *Executor) unwritten(err error) error {
	err = fmt.Errorf("keep the journal: %w", err)
	switch {
	case tree.Full(err):
		return hint.With(err, "make space there and run it again: Plumb changes nothing that it cannot record")
	case tree.ReadOnly(err):
		return hint.With(err, "mount its filesystem read-write and run it again: Plumb changes nothing that it cannot record; plumb undo can also use a copy of "+path.Join(k.Dir, journals)+" on another filesystem: --state DIR")
	}
	return err
}

// Changes reads all journals, oldest first. If one is damaged, or of a newer Plumb, only its own change is lost: that
// has Damage set and nothing else. The error is that of listing or reading the directory.
func (k *Executor) Changes(ctx context.Context) ([]*Change, error) {
	files, err := k.Doer.Glob(ctx, path.Join(host.Verbatim(k.Dir), journals))
	if err != nil {
		return nil, err
	}
	var all []*Change
	for _, file := range files {
		number, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path.Base(file), "change-"), ".journal"))
		if err != nil {
			continue
		}
		c, err := k.read(ctx, number, file)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Change) int { return a.Number - b.Number })
	return all, nil
}

func (k *Executor) read(ctx context.Context, number int, file string) (*Change, error) {
	text, err := k.Doer.Raw(ctx, file)
	if ctx.Err() != nil || errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err != nil {
		return &Change{Number: number, File: file, Damage: &Refusal{Why: err.Error(), What: damageHint}}, nil
	}
	c, err := replay(number, file, text)
	if err == nil {
		return c, nil
	}
	hint := damageHint
	if r, ok := errors.AsType[*Refusal](err); ok && r.What != "" {
		hint = r.What
	}
	return &Change{Number: number, File: file, Damage: &Refusal{Why: err.Error(), What: hint}}, nil
}

// What a person can do about a journal that cannot be read.
const (
	damageHint = "nothing was touched; the file is readable text: undo by hand what it says was done, and then move the file away"
	newerHint  = "nothing was touched; the Plumb that wrote it, or a later one, can undo it"
)

// begin opens the journal of a new change.
func (k *Executor) begin(ctx context.Context, b Begin, all plan) (*Change, error) {
	before, err := k.Changes(ctx)
	if err != nil {
		return nil, err
	}
	number := 1
	if len(before) > 0 {
		number = before[len(before)-1].Number + 1
	}
	c := &Change{Number: number, File: path.Join(k.Dir, fmt.Sprintf("change-%06d.journal", number))}
	b.Version, b.Plumb = all.form(), k.Plumb
	if err := k.note(ctx, c, kindBegin, b); err != nil || b.Version == 1 {
		return c, err
	}
	return c, k.note(ctx, c, kindPlan, all)
}

// note writes a record to the journal. It is on disk when note returns.
func (k *Executor) note(ctx context.Context, c *Change, kind string, body any) error {
	err := k.write(ctx, c, kind, body)
	if takesBack(kind) && k.makesRoom(ctx, err) {
		err = k.write(ctx, c, kind, body)
	}
	if err != nil {
		return k.unwritten(err)
	}
	return c.take(c.log.Records[len(c.log.Records)-1])
}

func (k *Executor) write(ctx context.Context, c *Change, kind string, body any) error {
	text, err := c.log.Append(k.Now(), kind, body)
	if err != nil {
		return err
	}
	if err = k.Doer.Append(ctx, c.File, text); err != nil {
		c.log.Drop()
	}
	return err
}

// Confirm keeps a change that would be undone when its time is over; number 0 stands for the last one that waits
// for that. The error is a *Refusal if there is none, or it cannot be confirmed.
func (k *Executor) Confirm(ctx context.Context, number int) (*Change, error) {
	unlock, err := k.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	all, err := k.Changes(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(all) {
		switch {
		case number != 0 && c.Number != number || c.Try.IsZero() || number == 0 && (c.Confirmed || !c.Open() || c.Loan != ""):
		case c.Loan != "":
			return c, &Refusal{Why: fmt.Sprintf("change %d is temporary, and cannot be kept", c.Number), What: "plumb fix --set sets a value permanently"}
		case c.Confirmed:
			return c, &Refusal{Why: fmt.Sprintf("change %d is already confirmed", c.Number)}
		case !c.Open():
			return c, &Refusal{Why: fmt.Sprintf("change %d is already undone", c.Number), What: "plumb fix makes it again"}
		default:
			return c, k.note(ctx, c, kindConfirmed, struct{}{})
		}
	}
	return nil, &Refusal{Why: "no change waits for a confirmation", What: "plumb history lists them"}
}
