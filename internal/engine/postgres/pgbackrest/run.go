package pgbackrest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plumb/internal/backup/driven"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// Begin implements driven.Whole. Both commands can be run again: of a stanza that is there the first sees that it is this
// server's, the second has the server hand over a file of its log and waits until that is there.
func (Tool) Begin(ctx context.Context, d host.Streamer, s driven.Set) error {
	for _, command := range []string{"stanza-create", "check"} {
		if err := call(ctx, d, s, asked{command: []string{command}}); err != nil {
			if is(err, codeOther) {
				err = hint.With(err, "the repository has a stanza "+s.Name+" of another server: --stanza gives this one another name")
			}
			return err
		}
	}
	return nil
}

// Run implements driven.Tool. What was killed goes on at the next run, which keeps the files that were whole (--resume).
func (Tool) Run(ctx context.Context, d host.Streamer, s driven.Set, t driven.Type) error {
	return call(ctx, d, s, asked{command: []string{"backup", "--type=" + string(t)}, limit: 30 * time.Minute})
}

// Look implements driven.Tool.
func (t Tool) Look(ctx context.Context, d host.Streamer, s driven.Set) (f driven.Found, err error) {
	version, err := t.Have(ctx, d)
	if err != nil {
		return f, err
	}
	text, err := answer(ctx, d, s, "info", "--output=json")
	if err != nil {
		return f, err
	}
	f, archive, err := info(text, s.Name)
	f.Version = version
	if err != nil || len(f.Backups) == 0 || archive == "" {
		return f, err
	}
	first := f.Backups[0].From
	list, err := answer(ctx, d, s, "repo-ls", "--recurse", "--output=json", "archive/"+s.Name+"/"+archive)
	switch {
	case err != nil:
		f.Unjudged = err.Error()
	case s.Segment == 0 || first == "":
		f.Unjudged = "how large its files are is not known"
	default:
		all, err := segments(list)
		if err != nil {
			return f, err
		}
		f.Holes = holes(all, first, s.Segment)
	}
	return f, nil
}

// Detail implements driven.Whole.
func (Tool) Detail(ctx context.Context, d host.Streamer, s driven.Set, b driven.Taken) (driven.Taken, error) {
	text, err := answer(ctx, d, s, "info", "--output=json", "--set="+b.Label)
	if err != nil {
		return b, err
	}
	f, _, err := info(text, s.Name)
	if err != nil {
		return b, err
	}
	i := slices.IndexFunc(f.Backups, func(o driven.Taken) bool { return o.Label == b.Label })
	if i < 0 {
		return b, fmt.Errorf("pgbackrest info does not speak of backup %s", b.Label)
	}
	return f.Backups[i], nil
}

// Mark implements driven.Whole.
func (Tool) Mark(ctx context.Context, d host.Streamer, s driven.Set, b driven.Taken, p protect.Drill) error {
	what := failed
	if p.OK {
		what = proven
	}
	return call(ctx, d, s, asked{command: []string{"annotate", "--set=" + b.Label, "--annotation=" + what + "=" + p.At.UTC().Format(time.RFC3339)}})
}

// errNone says that there is nothing to choose from.
var errNone = errors.New("there is no backup")
