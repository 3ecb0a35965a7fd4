package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/mounts"
	"plumb/internal/host/processes"
	"plumb/internal/product"
)

// inspect reads a state.
func inspect(ctx context.Context, h host.Reader, l Inspection) (string, error) {
	part, err := regexp.Compile("(?m)" + l.Match)
	if err != nil {
		return "", fmt.Errorf("read a state: %w: %w", errDamaged, err)
	}
	if gone, err := l.gone(ctx, h); err != nil || gone {
		return None, err
	}
	if over, err := covered(ctx, h, l.Bare); err != nil || over {
		return "", errors.Join(err, fmt.Errorf("%w: %s", errHidden, l.Bare))
	}
	switch {
	case l.Of != nil:
		return l.Of.read(ctx, h)
	case l.Mounted != "":
		is, err := mounts.Identity(ctx, h, l.Mounted)
		return cmp.Or(is, None), err
	case l.Socket != "":
		listens, err := processes.Listens(ctx, h, l.Socket)
		if err != nil || !listens {
			return None, err
		}
		return l.Socket, nil
	case l.File != "":
		text, err := h.ReadFile(ctx, l.File)
		if errors.Is(err, fs.ErrNotExist) {
			return None, nil
		}
		return l.state(string(text), part), err
	case l.Argv != nil:
		text, err := h.Output(ctx, l.Argv...)
		if err == nil && strings.TrimSpace(string(text)) == "" {
			return None, nil
		}
		return l.state(string(text), part), err
	case l.Target != nil:
		rows, err := l.ask(ctx, h)
		if err != nil {
			return "", err
		}
		return rows.Lines(None), nil
	}
	return "", fmt.Errorf("read a state: the act does not say how: %w", errDamaged)
}

// errHidden is the error of a state that cannot be read because something is mounted on its directory.
var errHidden = errors.New("hidden by what is mounted on it")

// gone tells whether what had the state no longer exists: its directory was removed, or what was mounted there no longer is.
func (l Inspection) gone(ctx context.Context, h host.Reader) (bool, error) {
	if l.Top != "" {
		is, err := mounts.Identity(ctx, h, l.Dir)
		return is != l.Top, err
	}
	dir := cmp.Or(l.Dir, l.Bare)
	if dir == "" {
		return false, nil
	}
	_, err := h.Stat(ctx, dir)
	return errors.Is(err, fs.ErrNotExist), nil // reading the state reports any other error
}

// holder holds sessions, as what may change a machine does.
type holder interface {
	Hold(ctx context.Context, t host.Target) (host.Held, error)
}

// ask runs the query, on a session of its own if it is long.
func (l Inspection) ask(ctx context.Context, h host.Reader) (rows host.Rows, err error) {
	d, ok := h.(holder)
	if !l.Long || !ok {
		return h.Query(ctx, *l.Target, l.Query)
	}
	s, err := d.Hold(ctx, *l.Target)
	if err != nil {
		return rows, err
	}
	defer s.Close()
	return s.Query(ctx, l.Query)
}

var errDamaged = errors.New("an act of a newer Plumb, or a damaged one")

// state trims blanks and gives the part of a text that counts.
func (l Inspection) state(text string, part *regexp.Regexp) string {
	if l.Among != nil {
		text = among(text, l.Among)
	}
	if l.Match != "" {
		found := part.FindAllStringSubmatch(text, -1)
		if len(found) == 0 || len(found[0]) < 2 {
			return None
		}
		return found[len(found)-1][1]
	}
	text = strings.TrimSpace(text)
	if l.Among != nil && text == "" {
		return None
	}
	if l.Choice {
		if _, after, ok := strings.Cut(text, "["); ok {
			text, _, _ = strings.Cut(after, "]")
		}
	}
	return text
}

// among keeps the lines whose first word is one of the words, and sorts them.
func among(text string, words []string) string {
	var left []string
	for line := range strings.SplitSeq(text, "\n") {
		if f := strings.Fields(line); len(f) > 0 && slices.Contains(words, f[0]) {
			left = append(left, line)
		}
	}
	slices.Sort(left)
	return strings.Join(left, "\n")
}

// operate runs operations, with the earlier state filled in.
func operate(ctx context.Context, d host.Doer, ops []Op, before string) error {
	for _, op := range ops {
		if err := op.filled(before).do(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func (o Op) do(ctx context.Context, d host.Doer) error {
	switch {
	case o.Write != nil:
		return d.Write(ctx, o.Write.File, []byte(o.Write.Text+"\n"))
	case o.Statement != "" && o.Target != nil:
		return d.Exec(ctx, *o.Target, o.Statement)
	case len(o.Argv) > 0:
		if s, ok := d.(host.Streamer); ok && o.Long {
			_, err := s.Pipe(ctx, host.Pipe{Argv: o.Argv, Works: true})
			return err
		}
		_, err := d.Run(ctx, o.Argv...)
		return err
	}
	return fmt.Errorf("do %q: %w", o, errDamaged)
}

// filled puts the state found where {before} stands.
func (o Op) filled(before string) Op {
	return o.with("{before}", before, "{before:sql}", o.quoted(before))
}

// with replaces words in the texts of an operation: each by the one after it.
func (o Op) with(words ...string) Op {
	r := strings.NewReplacer(words...)
	if o.Write != nil {
		o.Write = &Write{File: o.Write.File, Text: r.Replace(o.Write.Text)}
	}
	argv := make([]string, len(o.Argv))
	for i, w := range o.Argv {
		argv[i] = r.Replace(w)
	}
	o.Argv, o.Statement = argv, r.Replace(o.Statement)
	return o
}

// quoted makes an SQL string.
func (o Op) quoted(text string) string {
	if o.Target == nil {
		return product.DialectOf("").Quote(text)
	}
	return product.DialectOf(o.Target.Engine).Quote(text)
}
