package move

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/provision"
)

// proof reads where the server stands, and gives what looks afterwards whether it lies on the new filesystem, answers, and
// does not stand behind that.
func (m Mover) proof(ctx context.Context, h host.Reader, w provision.Move, data provision.Volume) (func(context.Context, host.Reader) error, error) {
	was, err := h.Stat(ctx, w.Home.Data)
	if err != nil {
		return nil, err
	}
	var e protect.Engine
	for _, one := range m.Engines {
		if one.Kind() == w.Home.Server.Kind {
			e = one
		}
	}
	if e == nil {
		return nil, fmt.Errorf("where a %s stands cannot be read", w.Home.Server.Kind)
	}
	stood, err := e.Position(ctx, h, w.Home.Target)
	if err != nil {
		return nil, fmt.Errorf("read where it stands: %w", err)
	}
	return func(ctx context.Context, h host.Reader) error {
		now, err := h.Stat(ctx, data.At)
		if err != nil {
			return err
		}
		if now.DevMajor == was.DevMajor && now.DevMinor == was.DevMinor {
			return fmt.Errorf("%s is still on the device %d:%d", data.At, now.DevMajor, now.DevMinor)
		}
		stands, err := answers(ctx, h, e, w.Home.Target)
		if err == nil {
			err = behind(stood, stands)
		}
		return err
	}, nil
}

// answers waits until the server answers: that it listens is not yet that.
func answers(ctx context.Context, h host.Reader, e protect.Engine, t host.Target) (protect.Position, error) {
	for end := time.Now().Add(time.Minute); ; {
		p, err := e.Position(ctx, h, t)
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return p, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// behind says in what a position is before another.
func behind(was, now protect.Position) error {
	if was.File != "" && (now.File < was.File && len(now.File) == len(was.File) || now.File == was.File && now.Offset < was.Offset) {
		return fmt.Errorf("it stands at %s:%d, and stood at %s:%d before", now.File, now.Offset, was.File, was.Offset)
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
		return fmt.Errorf("it stands at %s of timeline %d, and stood at %s of timeline %d before", now.LSN, now.Timeline, was.LSN, was.Timeline)
	}
	return nil
}

// lsn reads a position of PostgreSQL's log: two numbers in hex.
func lsn(text string) (uint64, error) {
	high, low, ok := strings.Cut(text, "/")
	a, err := strconv.ParseUint(high, 16, 32)
	b, err2 := strconv.ParseUint(low, 16, 32)
	if err = errors.Join(err, err2); err != nil || !ok {
		return 0, fmt.Errorf("%q is no position in a log", text)
	}
	return a<<32 | b, nil
}
