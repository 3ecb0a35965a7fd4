package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/host/identity"
)

func (e *Edit) place() string { return e.File + " " + e.Key }

func (e *Edit) found(ctx context.Context, k *Executor) (made Made, need bool, err error) {
	text, err := e.Text(ctx, k.Doer)
	if err != nil {
		return made, false, err
	}
	after, err := e.after(text)
	if err != nil {
		return made, false, err
	}
	made.New = text == nil
	if made.New {
		text = []byte(e.blank()) // the header is nobody's value: it goes with the last of them
	}
	splice := edit.Diff(text, after)
	made.Splice = &splice
	value, had, err := edit.Get(e.Form, text, e.Key)
	if err != nil {
		return made, false, err
	}
	if made.Unset = !had; had {
		made.Value = &value
	}
	made.In, err = followedID(ctx, k.Doer, path.Dir(e.File))
	return made, made.New || string(text) != string(after), err
}

// Text reads the file with its secrets in place; nil when there is none.
func (e *Edit) Text(ctx context.Context, d host.Doer) ([]byte, error) {
	return rawOrNone(ctx, d, e.File)
}

// Result gives what a text, nil for no file, becomes by the edit, and what of its bytes that
// changes.
func (e *Edit) Result(text []byte) (after []byte, changes edit.Splice, err error) {
	if after, err = e.after(text); err != nil {
		return nil, changes, err
	}
	return after, edit.Diff(text, after), nil
}

// after gives what a file will hold once the edit is done.
func (e *Edit) after(text []byte) ([]byte, error) {
	if text == nil {
		text = []byte(e.blank())
	}
	after, err := edit.Set(e.Form, text, e.Key, e.Value)
	if err != nil {
		return nil, fmt.Errorf("edit %s: %w", e.File, err)
	}
	return after, nil
}

func (e *Edit) do(ctx context.Context, k *Executor, _ *Change, _ *Recorded) (string, error) {
	text, err := e.Text(ctx, k.Doer)
	if err != nil {
		return "", err
	}
	if text, err = e.after(text); err != nil {
		return "", err
	}
	if err := k.Doer.Replace(ctx, e.File, text, e.perm()); err != nil {
		return "", err
	}
	return "", e.reread(ctx, k)
}

// reread makes those who read a file read it again.
func (e *Edit) reread(ctx context.Context, k *Executor) error {
	if e.Apply == nil {
		return nil
	}
	return e.Apply.do(ctx, k.Doer)
}

func (e *Edit) drift(ctx context.Context, k *Executor, p *Recorded) (*Drift, error) {
	if d, err := e.Still.way(ctx, k, e.place()); err != nil || d != nil {
		return d, err
	}
	text, err := e.Text(ctx, k.Doer)
	if err != nil {
		return nil, err
	}
	if text == nil {
		if d, err := e.elsewhere(ctx, k, p); err != nil || d != nil {
			return d, err
		}
	}
	_, err = e.without(p.Made, text)
	if errors.Is(err, edit.ErrDrifted) {
		found, _, _ := edit.Get(e.Form, text, e.Key)
		if text == nil {
			found = "gone with its file"
		}
		return &Drift{Place: e.place(), Want: e.Value, Found: cmp.Or(found, "not set there as Plumb wrote it")}, nil
	}
	return nil, err
}

// elsewhere tells of a file that is not there whether it may be where nobody looks: its filesystem may not be mounted.
func (e *Edit) elsewhere(ctx context.Context, k *Executor, p *Recorded) (*Drift, error) {
	why, err := e.hidden(ctx, k.Doer, p.Made.In)
	if err != nil || why == "" {
		return nil, err
	}
	return &Drift{Place: e.place(), Want: e.Value, Found: "cannot be read: " + why + "; is its filesystem mounted?"}, nil
}

// hidden says why a file that is not there may be there all the same; in is who its directory was.
func (e *Edit) hidden(ctx context.Context, h host.Reader, in string) (why string, err error) {
	leads := func(link string) bool { _, err := h.Readlink(ctx, link); return err == nil }
	if leads(e.File) {
		return "the link " + e.File + " leads nowhere", nil
	}
	if in == "" || in == None { // an earlier Plumb did not say; or the directory was made with the file
		return "", nil
	}
	dir := path.Dir(e.File)
	now, err := followedID(ctx, h, dir)
	switch {
	case err != nil || identity.Same(now, in):
		return "", err
	case now == None && leads(dir):
		return "the link " + dir + " leads nowhere", nil
	case now == None:
		return "there is no directory " + dir, nil
	case in == aLink: // an earlier Plumb did not say where to
		return "", nil
	}
	return dir + " is another directory", nil
}

func (e *Edit) undo(ctx context.Context, k *Executor, _ *Change, p *Recorded, force bool) error {
	if err := inTheWay(e.Still.way(ctx, k, e.place())); err != nil {
		return err
	}
	if err := k.Doer.Tidy(ctx, e.File); err != nil {
		return err
	}
	text, err := e.Text(ctx, k.Doer)
	if err != nil {
		return err
	}
	after, err := e.without(p.Made, text)
	if force && errors.Is(err, edit.ErrDrifted) {
		after, err = e.forced(p.Made, text)
	}
	switch {
	case err != nil:
		return err
	case text == nil && after == nil, text != nil && after != nil && string(text) == string(after):
	case after == nil:
		err = e.remove(ctx, k)
	default:
		err = k.Doer.Replace(ctx, e.File, after, e.perm())
	}
	if err != nil {
		return err
	}
	if err := e.reread(ctx, k); err != nil {
		return waiting(ctx, e.Apply.Target, fmt.Errorf("%s is as it was, but could not be reloaded: %w", e.File, err))
	}
	return nil
}

// remove takes away a file in which nothing is left. A link in its place is somebody's: it stays, and leads to a file that
// sets nothing.
func (e *Edit) remove(ctx context.Context, k *Executor) error {
	if _, err := k.Doer.Readlink(ctx, e.File); err == nil {
		return k.Doer.Replace(ctx, e.File, []byte(e.blank()), e.perm())
	}
	return k.Doer.Remove(ctx, e.File)
}

// without gives a file as it is without the edit: nil for none. A file of ours
// in which nothing is left but its header goes.
func (e *Edit) without(m Made, text []byte) ([]byte, error) {
	if text == nil {
		if m.New || len(m.Splice.Old) == 0 {
			return nil, nil // whoever removed the file removed our value
		}
		return nil, edit.ErrDrifted
	}
	after, err := edit.Revert(e.Form, *m.Splice, text, e.Key)
	if errors.Is(err, edit.ErrDrifted) && e.asBefore(m, text) {
		after, err = text, nil
	}
	if err != nil {
		return nil, err
	}
	return e.kept(m, after), nil
}

// asBefore tells whether a file says of the key what it said before, whoever saw to that: so it is where an undo took the
// edit back, could not write that down, and took back others in the same file.
func (e *Edit) asBefore(m Made, text []byte) bool {
	value, set, err := edit.Get(e.Form, text, e.Key)
	return err == nil && (set && m.Value != nil && value == *m.Value || !set && m.Unset)
}

// forced gives a file with the value before, wherever the key stands now: set
// anew, or taken out when the file did not set it. nil stands for no file: one
// that is gone is not made anew of a single line.
func (e *Edit) forced(m Made, text []byte) (after []byte, err error) {
	switch {
	case text == nil:
		return nil, nil
	case m.Value != nil:
		return edit.Set(e.Form, text, e.Key, *m.Value)
	case !m.Unset:
		return nil, fmt.Errorf("%s was changed, and what it contained before is not known: %w", e.File, edit.ErrDrifted)
	}
	if after, err = edit.Unset(e.Form, text, e.Key); err != nil {
		return nil, err
	}
	return e.kept(m, after), nil
}

// kept gives what stays of a file: nil when it is ours and nothing but its
// header is left.
func (e *Edit) kept(m Made, text []byte) []byte {
	if (e.Ours || m.New) && string(text) == e.blank() {
		return nil
	}
	return text
}

func (e *Edit) words(p *Recorded) (before, after string) {
	if p.Made.Splice == nil {
		return "", e.Value
	}
	return string(p.Made.Splice.Old), string(p.Made.Splice.New)
}

func (e *Edit) back(*Recorded) []Op {
	if e.Apply == nil {
		return nil
	}
	return []Op{*e.Apply}
}

// blank is what a new file begins with: the comment, and the group that its
// values stand in, which must not go with the first of them.
func (e *Edit) blank() string {
	text := "# Written by plumb fix; plumb undo takes it back.\n"
	if e.Note != "" {
		text += "# " + e.Note + "\n"
	}
	if group, _, ok := strings.Cut(e.Key, "/"); ok && (e.Form == edit.OptionFile || e.Form == edit.Unit) {
		text += "[" + group + "]\n"
	}
	return text
}

// rawOrNone reads a file; nil when there is none.
func rawOrNone(ctx context.Context, d host.Doer, name string) ([]byte, error) {
	text, err := d.Raw(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}
