package change

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"

	"plumb/internal/host"
	"plumb/internal/host/identity"
	"plumb/internal/host/mirror"
	"plumb/internal/host/paths"
	"plumb/internal/host/tree"
)

// Copy makes a directory that holds what another does. It is long: killed, it
// goes on where it was; and done only when each file was read back and is the same. It keeps owners, modes,
// times, holes, extended attributes and access lists, and that two names are one file.
type Copy struct {
	From   string `json:"from"`             // nobody writes there meanwhile
	To     string `json:"to"`               // not there before, in a directory that only root or we can write to
	Unused bool   `json:"unused,omitempty"` // only while no process uses From
}

// errStopped is the error of a copy that stopped before its end, and of which
// what there is was left: Resume goes on with it, an undo removes it.
var errStopped = errors.New("stopped; what was copied so far is kept, to continue or to undo")

func (o *Copy) place() string { return o.To }
func (o *Copy) to() Thing     { return Thing{Path: o.To} }

func (o *Copy) found(ctx context.Context, k *Executor) (Made, bool, error) {
	id, err := o.to().identity(ctx, k.Doer)
	if err == nil && id != None {
		err = taken(o.To)
	}
	if err == nil {
		err = o.allowed(ctx, k.Doer)
	}
	return Made{Before: None, Mark: newMark()}, true, err
}

// allowed reads the preconditions.
func (o *Copy) allowed(ctx context.Context, d host.Doer) error {
	switch id, err := directoryID(ctx, d, o.From); {
	case err != nil:
		return err
	case !identity.Is(id) || o.From == o.To || paths.Within(o.To, o.From):
		return &Refusal{Why: fmt.Sprintf("%s is not a directory that can be copied to %s", o.From, o.To)}
	}
	if o.Unused {
		if err := unused(ctx, d, o.From, true); err != nil {
			return err
		}
	}
	return staysInPlace(ctx, d, path.Dir(o.To))
}

func (o *Copy) do(ctx context.Context, k *Executor, c *Change, p *Recorded) (string, error) {
	if done, err := o.to().is(ctx, k.Doer, p.Identity); err != nil || done {
		return "", err // it had its name already
	}
	stream, ok := k.Doer.(host.Streamer)
	if !ok {
		return "", &Refusal{Why: "nothing can be copied here: no commands run"}
	}
	aside, err := o.begin(ctx, k, c, p)
	if err != nil {
		return "", err
	}
	state, err := o.run(ctx, k, c, p, stream, aside.Path)
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", errStopped, errors.Join(err, ctx.Err()))
	}
	if err != nil {
		return "", err
	}
	if err := o.to().publish(ctx, k, c, p, state); err != nil {
		return "", err
	}
	return "", k.Doer.Remove(ctx, o.list(k, p))
}

// list is where it is written down what was copied, until all is.
func (o *Copy) list(k *Executor, p *Recorded) string {
	return path.Join(k.Dir, "copied-"+p.Made.Mark+".list")
}

// run makes a directory like the one that is copied, and gives the digest of it.
func (o *Copy) run(ctx context.Context, k *Executor, c *Change, p *Recorded, stream host.Streamer, to string) (string, error) {
	done, err := mirror.Open(ctx, stream, o.list(k, p))
	if err != nil {
		return "", err
	}
	done.Noted = func(ctx context.Context, files int) error {
		return k.note(ctx, c, kindProgress, result{N: p.N, Files: files})
	}
	from, err := tree.Open(o.From)
	if err != nil {
		return "", err
	}
	defer from.Close()
	copy, err := tree.Open(to)
	if err != nil {
		return "", err
	}
	defer copy.Close()
	m := mirror.Mirror{Done: done, Old: from, New: copy}
	_, err = m.Whole(ctx)
	if errors.Is(err, mirror.ErrChanged) {
		err = fmt.Errorf("%w: %w", err, errStopped)
	}
	if err != nil {
		return "", err
	}
	itself, err := from.Itself()
	if err == nil { // last: until then nobody else can enter it
		err = host.Step(ctx, stream, "give", to, func() error { return copy.Give(itself) })
	}
	if err != nil {
		return "", err
	}
	return digestOf(ctx, copy)
}

// digestOf is the same for two directories that hold the same names, with the same sizes, times, owners and modes.
func digestOf(ctx context.Context, r *tree.Root) (string, error) {
	all, err := r.List(ctx, tree.Options{})
	sum := sha256.New()
	for _, e := range all {
		modified := fmt.Sprintf("%d.%09d0", e.Modified/1e9, e.Modified%1e9) // as find prints it, which an earlier Plumb asked
		fmt.Fprintf(sum, "%q %c %d %s %d %d %o %q\n", e.Name, e.Kind, e.Size, modified, e.UID, e.GID, e.Mode, e.Link)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// begin makes the directory of the copy under a name of its own, or finds the
// one that an earlier Plumb filled in part.
func (o *Copy) begin(ctx context.Context, k *Executor, c *Change, p *Recorded) (Thing, error) {
	aside := o.to().aside(p.Made.Mark)
	if err := o.allowed(ctx, k.Doer); err != nil {
		return aside, err
	}
	id, err := aside.identity(ctx, k.Doer)
	switch {
	case err != nil:
		return aside, err
	case identity.Same(id, p.Identity) && id != None:
		return aside, nil
	case p.Identity != "":
		return aside, &Refusal{Why: fmt.Sprintf("%s, with what was copied so far, is not there or another", aside.Path), What: "undo this change and copy again"}
	case id == None:
		if err := k.Doer.MakeDir(ctx, aside.Path, 0o700, -1, -1); err != nil {
			return aside, err
		}
		if id, err = aside.identity(ctx, k.Doer); err != nil {
			return aside, err
		}
	}
	return aside, k.note(ctx, c, kindMade, result{N: p.N, Got: id})
}

func (o *Copy) drift(ctx context.Context, k *Executor, p *Recorded) (*Drift, error) {
	now, err := o.to().identity(ctx, k.Doer)
	if err != nil || now == None {
		return nil, err
	}
	if !identity.Same(now, p.Identity) {
		if p.State != Done {
			return nil, nil
		}
		return &Drift{Place: o.To, Want: "a copy made by Plumb, " + p.Identity, Found: "another: " + now, Others: true}, nil
	}
	r, err := tree.Open(o.To)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if digest, err := digestOf(ctx, r); err != nil || digest == p.Kept {
		return nil, err
	}
	return &Drift{Place: o.To, Want: "as it was copied", Found: "changed"}, nil
}

func (o *Copy) undo(ctx context.Context, k *Executor, _ *Change, p *Recorded, force bool) error {
	d, err := o.drift(ctx, k, p)
	if err := inTheWay(d.unless(force), err); err != nil {
		return err
	}
	ours, err := o.to().is(ctx, k.Doer, p.Identity)
	if err == nil && ours {
		err = errors.Join(unmounted(ctx, k.Doer, o.To), unused(ctx, k.Doer, o.To, false))
	}
	if err == nil {
		err = o.to().withdraw(ctx, k.Doer, p.Made.Mark, p.Identity)
	}
	if err != nil {
		return err
	}
	if err := k.Doer.Remove(ctx, o.list(k, p)); err != nil {
		return err
	}
	aside := o.to().aside(p.Made.Mark)
	id, err := aside.identity(ctx, k.Doer)
	switch {
	case err != nil || id == None:
		return err
	case p.Identity == "": // nothing can be in it yet
		return k.Doer.Remove(ctx, aside.Path)
	case !identity.Same(id, p.Identity):
		return &Drifted{[]Drift{{Place: aside.Path, Want: p.Identity, Found: id, Others: true}}}
	}
	if err := unmounted(ctx, k.Doer, aside.Path); err != nil {
		return err
	}
	return host.RemoveTree(ctx, k.Doer, aside.Path)
}

func (o *Copy) known(m Made) error {
	from, to := Thing{Path: o.From}, o.to()
	if from.known() != nil || to.known() != nil || !isMark(m.Mark) {
		return unknown(fmt.Sprintf("a copy from %q to %q", o.From, o.To))
	}
	return nil
}

func (o *Copy) words(p *Recorded) (before, after string) {
	after = "a copy of " + o.From
	if p.State == Begun && p.Files > 0 {
		after += fmt.Sprintf(", with %d files and directories so far", p.Files)
	}
	return "not there", after
}

func (o *Copy) back(*Recorded) []Op {
	return []Op{{Argv: []string{"rm", "-rfv", "--one-file-system", "--", o.To}}}
}
