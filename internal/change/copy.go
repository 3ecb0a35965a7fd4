package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/host"
)

// Copy makes a directory that holds what another does. It is long: killed, it
// goes on where it was; and done only when each file was read back and is the same. Of
// files it keeps owner, mode, times and holes, but neither extended attributes nor
// that two names are one file.
type Copy struct {
	From   string `json:"from"`             // nobody writes there meanwhile
	To     string `json:"to"`               // not there before, in a directory that only root or we can write to
	Unused bool   `json:"unused,omitempty"` // only while no process uses From
}

// ErrStopped is the error of a copy that stopped before its end, and of which
// what there is was left: Resume goes on with it, an undo removes it.
var ErrStopped = errors.New("stopped; what was copied so far is kept, to go on with or to undo")

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
	case !strings.HasPrefix(id, aDevice) || o.From == o.To || below(o.To, o.From):
		return &Refusal{Why: fmt.Sprintf("%s is no directory that can be copied to %s", o.From, o.To)}
	}
	if o.Unused {
		if err := unused(ctx, d, o.From, true); err != nil {
			return err
		}
	}
	return onlyOurs(ctx, d, path.Dir(o.To))
}

// onlyOurs refuses a directory in which, or above which, others could put
// something in the place of what is written there.
func onlyOurs(ctx context.Context, d host.Doer, dir string) error {
	self, err := d.Stat(ctx, "/proc/self")
	if err != nil {
		return err
	}
	for at := dir; ; at = path.Dir(at) {
		st, err := d.Stat(ctx, at)
		if err != nil {
			return err
		}
		others := st.Mode.Perm()&0o022 != 0 && (st.Mode&fs.ModeSticky == 0 || at == dir)
		if others || st.UID != 0 && st.UID != self.UID || st.Resolved != at {
			return &Refusal{Why: fmt.Sprintf("others than root could change what is copied into %s: %s is a link, of user %d or can be written to by others", dir, at, st.UID),
				What: "copy to a directory of root's, and give the copy to its user afterwards"}
		}
		if at == "/" {
			return nil
		}
	}
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
	run := copying{k: k, do: stream, c: c, p: p, from: o.From, to: aside.Path}
	state, err := run.all(ctx)
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrStopped, errors.Join(err, ctx.Err()))
	}
	if err != nil {
		return "", err
	}
	return "", o.to().publish(ctx, k, c, p, state)
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
	case id == p.Identity && id != None:
		return aside, nil
	case p.Identity != "":
		return aside, &Refusal{Why: fmt.Sprintf("%s, with what was copied so far, is not there or another", aside.Path), What: "undo this change and copy anew"}
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
	if now != p.Identity {
		if p.State != Done {
			return nil, nil
		}
		return &Drift{Place: o.To, Want: "a copy made by Plumb, " + p.Identity, Found: "another: " + now, Others: true}, nil
	}
	stream, ok := k.Doer.(host.Streamer)
	if !ok {
		return nil, nil
	}
	entries, err := list(ctx, stream, o.To)
	if err != nil || digest(entries) == p.Kept {
		return nil, err
	}
	return &Drift{Place: o.To, Want: "as it was copied", Found: "changed"}, nil
}

func (o *Copy) undo(ctx context.Context, k *Executor, _ *Change, p *Recorded, force bool) error {
	d, err := o.drift(ctx, k, p)
	if err == nil && d != nil && (d.Others || !force) {
		err = &Drifted{[]Drift{*d}}
	}
	if err != nil {
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
	aside := o.to().aside(p.Made.Mark)
	id, err := aside.identity(ctx, k.Doer)
	switch {
	case err != nil || id == None:
		return err
	case p.Identity == "": // nothing can be in it yet
		return k.Doer.Remove(ctx, aside.Path)
	case id != p.Identity:
		return &Drifted{[]Drift{{Place: aside.Path, Want: p.Identity, Found: id, Others: true}}}
	}
	return aside.destroy(ctx, k.Doer)
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
		after += fmt.Sprintf(", of which %d files and directories are there", p.Files)
	}
	return "not there", after
}

func (o *Copy) back(*Recorded) []Op {
	return []Op{{Argv: []string{"rm", "-rfv", "--one-file-system", "--", o.To}}}
}
