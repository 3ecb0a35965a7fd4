package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// told asks the server where its data are, and refuses one that has them elsewhere: another server answers then than the
// one that would be stopped and moved.
func (p *planning) told(ctx context.Context) error {
	at := slices.IndexFunc(p.Engines, func(e protect.Engine) bool { return e.Kind() == p.Home.Server.Kind })
	if at < 0 {
		return fmt.Errorf("the position of a %s cannot be read", p.Home.Server.Kind)
	}
	p.engine = p.Engines[at]
	said, same, err := p.says(ctx, p.h, p.Home.Data)
	if err != nil {
		p.notes = append(p.notes, fmt.Sprintf("the server cannot be asked afterwards whether it reads its data from the new place (%v): only the device of the directory is checked", err))
		return nil
	}
	if p.asked = true; !same {
		return hint.With(fmt.Errorf("the server that answers at %s says that its data are in %s, not in %s", p.Home.Target.Address, said, p.Home.Data),
			"check which of the servers on this host listens there")
	}
	return nil
}

// says asks the server where its data are, and compares that with a directory: links may lead to it.
func (p *planning) says(ctx context.Context, h host.Reader, dir string) (said string, same bool, err error) {
	teller, ok := p.engine.(protect.Teller)
	if !ok {
		return "", false, errors.New("there is no query for that")
	}
	if said, err = teller.Says(ctx, h, p.Home.Target); err != nil {
		return "", false, err
	}
	is, err := h.Stat(ctx, said)
	if err != nil {
		return said, false, fmt.Errorf("look at %s, where it says its data are: %w", said, err)
	}
	want, err := h.Stat(ctx, dir)
	return said, is.Resolved == want.Resolved, err
}

// proof reads where the server stands, and gives what looks afterwards whether its data are on the new filesystem, it
// answers from there, and does not stand behind what it had.
func (p *planning) proof(ctx context.Context) (func(context.Context, host.Reader) error, error) {
	was, err := p.h.Stat(ctx, p.Home.Data)
	if err != nil {
		return nil, err
	}
	stood, err := p.engine.Position(ctx, p.h, p.Home.Target)
	if err != nil {
		return nil, fmt.Errorf("read its position: %w", err)
	}
	return func(ctx context.Context, h host.Reader) error {
		now, err := h.Stat(ctx, p.data.At)
		if err != nil {
			return err
		}
		if now.DevMajor == was.DevMajor && now.DevMinor == was.DevMinor {
			return fmt.Errorf("%s is still on the device %d:%d", p.data.At, now.DevMajor, now.DevMinor)
		}
		stands, err := protect.Stands(ctx, h, p.engine, p.Home.Target)
		if err != nil {
			return err
		}
		return errors.Join(p.confirmed(ctx, h), behind(stood, stands))
	}, nil
}

// confirmed has the server say that its data are in the new place, if it told where they were before.
func (p *planning) confirmed(ctx context.Context, h host.Reader) error {
	if !p.asked {
		return nil
	}
	said, same, err := p.says(ctx, h, p.data.At)
	if err != nil {
		return fmt.Errorf("ask the server where its data are now: %w", err)
	}
	if !same {
		return fmt.Errorf("the server says that its data are in %s, not in %s", said, p.data.At)
	}
	return nil
}

// behind says in what a position is before another.
func behind(was, now protect.Position) error {
	if was.File != "" && (now.File < was.File && len(now.File) == len(was.File) || now.File == was.File && now.Offset < was.Offset) {
		return fmt.Errorf("its position is %s:%d, and was %s:%d before", now.File, now.Offset, was.File, was.Offset)
	}
	if was.LSN == "" {
		return nil
	}
	a, err := lsn(was.LSN)
	b, err2 := lsn(now.LSN)
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if b < a || now.Timeline < was.Timeline {
		return fmt.Errorf("its position is %s of timeline %d, and was %s of timeline %d before", now.LSN, now.Timeline, was.LSN, was.Timeline)
	}
	return nil
}

// lsn reads a position of PostgreSQL's log: two numbers in hex.
func lsn(text string) (uint64, error) {
	high, low, ok := strings.Cut(text, "/")
	a, err := strconv.ParseUint(high, 16, 32)
	b, err2 := strconv.ParseUint(low, 16, 32)
	if err = errors.Join(err, err2); err != nil || !ok {
		return 0, fmt.Errorf("%q is not a position in a log", text)
	}
	return a<<32 | b, nil
}
