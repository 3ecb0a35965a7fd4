package deaths

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/drill"
)

// odd is an engine whose copies do not run as they should.
type odd struct {
	Engine
	program string // that is run in place of the server; "" for the server
	check   func(context.Context) error
}

// Serve implements protect.Starter.
func (o odd) Serve(c protect.Copy) (host.Process, host.Signal, string, error) {
	p, stop, log, err := o.Engine.Serve(c)
	if o.program != "" {
		p.Argv = []string{o.program, "600"}
	}
	return p, stop, log, err
}

// Check implements protect.Starter.
func (o odd) Check(ctx context.Context, _ load.Admin, _ protect.Copy, _ bool) ([]protect.Check, error) {
	if o.check == nil {
		return nil, nil
	}
	return nil, o.check(ctx)
}

// TestDrillsThatJudgeNothing: a drill that was broken off, or whose server was never started, leaves a proven point as it is. One
// that ended with a verdict notes it.
func TestDrillsThatJudgeNothing(t *testing.T) {
	s := OnBtrfs(t)
	h := s.Alive()
	must(t, s.drill(false)(t.Context(), h))
	ctx, interrupt := t.Context(), context.CancelFunc(func() {})
	point := func() protect.Point {
		t.Helper()
		p, err := h.Keeper.Store.Get(t.Context(), h.Keeper.Do, s.Point.ID)
		must(t, err)
		return p
	}
	try := func(o odd, limit time.Duration) error {
		t.Helper()
		o.Engine = Engine{s.Plan.Server}
		h.Keeper.Engines = []protect.Engine{o}
		ctx, interrupt = context.WithCancel(t.Context())
		defer interrupt()
		_, err := drill.Drill{Maker: h.Copies, Memory: 256 << 20, Limit: limit}.Run(ctx, point())
		return err
	}
	was := point()
	for name, c := range map[string]struct {
		odd   odd
		limit time.Duration
		want  string
	}{
		"no answer in time":       {odd{program: "sleep"}, 5 * time.Second, "the time limit of 5s ran out"},
		"checks that last":        {odd{check: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}, 5 * time.Second, "the time limit of 5s ran out"},
		"interrupted":             {odd{check: func(ctx context.Context) error { interrupt(); <-ctx.Done(); return errors.New("broken pipe") }}, time.Hour, "context canceled"},
		"a program that is gone":  {odd{program: "/nonexistent/server"}, time.Hour, "its server was not started"},
		"no time for a copy even": {odd{}, time.Nanosecond, "ran out: no copy of it could be made"},
	} {
		err := try(c.odd, c.limit)
		if err == nil || !strings.Contains(err.Error(), "it was not judged: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if late := strings.Contains(c.want, "ran out"); late != strings.Contains(hint.Of(err), "--limit") {
			t.Errorf("%s: hint %q", name, hint.Of(err))
		}
		if p := point(); p.Label != protect.Proven || !p.Drill.At.Equal(was.Drill.At) {
			t.Errorf("%s: the point is %s, by %+v", name, p.Label, p.Drill)
		}
	}
	must(t, try(odd{check: func(context.Context) error { interrupt(); return nil }}, time.Hour))
	if p := point(); p.Label != protect.Proven || p.Drill.At.Equal(was.Drill.At) {
		t.Errorf("interrupted when it had passed: %s, %+v", p.Label, p.Drill)
	}
	must(t, try(odd{check: func(context.Context) error { return errors.New("a table is damaged") }}, time.Hour))
	if p := point(); p.Label != protect.Crash || p.Drill.Why != "a table is damaged" {
		t.Errorf("damaged: %s, %+v", p.Label, p.Drill)
	}
	if now := s.World(t); strings.Contains(now, "drill-") {
		t.Errorf("something is left:\n%s", now)
	}
}
