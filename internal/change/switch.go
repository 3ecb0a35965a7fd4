package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/host/memory"
)

// Commands gives operations that run one command each.
func Commands(all ...[]string) (ops []Op) {
	for _, argv := range all {
		ops = append(ops, Op{Argv: argv})
	}
	return ops
}

// ReloadUnits makes systemd read its unit files again; nil where systemd does not run and nothing needs to be told.
func ReloadUnits(ctx context.Context, h host.Reader) (*Op, error) {
	runs, err := host.RunsSystemd(ctx, h)
	if err != nil || !runs {
		return nil, err
	}
	return &Op{Argv: []string{"systemctl", "daemon-reload"}}, nil
}

// LongScript is an operation that runs a shell script, for any time while it makes progress. The arguments are data, and never
// become part of the script.
func LongScript(text string, args ...string) Op {
	return Op{Long: true, Argv: append([]string{"sh", "-euc", text, "sh"}, args...)}
}

// busy is how long to wait for the last user of a filesystem to leave.
const busy = 30 * time.Second

// Exactly makes an Exact switch of one command each way, which is repeated while a filesystem is busy.
func Exactly(on string, look Inspection, after string, do, undo []string) Switch {
	return Switch{On: on, Inspect: look, After: after, Do: Commands(do), Undo: Commands(undo), Exact: true, Again: busy.Milliseconds()}
}

func (s *Switch) place() string { return s.On }

func (s *Switch) found(ctx context.Context, k *Executor) (made Made, need bool, err error) {
	if made.Before, err = inspect(ctx, k.Doer, s.Inspect); err != nil {
		return made, false, fmt.Errorf("read %s: %w", s.On, err)
	}
	need = made.Before != s.After && !slices.Contains(s.Beyond, made.Before)
	if s.running(ctx, k, made.Before) { // somebody else has started it, and an undo must stop it all the same
		return Made{Before: None}, true, nil
	}
	if need && s.From != "" && made.Before != s.From {
		return made, false, &Refusal{Why: fmt.Sprintf("%s is no longer as in the plan: %s instead of %s", s.On, made.Before, s.From), What: "make the plan again"}
	}
	if need && s.Guard != nil {
		_, err = k.guarded(ctx, s.Guard, -1)
	}
	return made, need, err
}

// do does a switch and reads back what came of it.
func (s *Switch) do(ctx context.Context, k *Executor, _ *Change, p *Recorded) (got string, err error) {
	var swapped int64
	if s.Guard != nil {
		if swapped, err = k.guarded(ctx, s.Guard, -1); err != nil {
			return "", err
		}
	}
	if s.starts() {
		seen, err := inspect(ctx, k.Doer, s.Inspect)
		if err != nil || s.running(ctx, k, seen) {
			return "", err
		}
	}
	defer k.says(s, s.After)()
	if err := s.operate(ctx, k, s.Do, p.Made.Before, s.After); err != nil {
		return "", err
	}
	got, err = s.reach(ctx, k, s.After)
	switch {
	case err != nil:
		return "", err
	case got == s.After:
		got = ""
	case got == p.Made.Before:
		return "", fmt.Errorf("%s did not accept %s: it is still %s", s.On, s.After, got)
	case s.Either:
		return "", fmt.Errorf("%s was to be %s, but is %s: somebody else changed it", s.On, s.After, got)
	}
	if s.Guard != nil {
		_, err = k.guarded(ctx, s.Guard, swapped)
	}
	return got, err
}

// guarded gives the number of pages swapped so far. It fails if the guard does not hold, compared with since pages; -1
// stands for now.
func (k *Executor) guarded(ctx context.Context, g *Guard, since int64) (int64, error) {
	_, swapped, err := memory.Read(ctx, k.Doer)
	if err != nil {
		return 0, fmt.Errorf("watch the memory: %w", err)
	}
	if since < 0 {
		since = swapped
	}
	why, err := memory.Short(ctx, k.Doer, g.MemAvailable, g.SwapIn, since)
	if err == nil && why != "" {
		err = errors.New(why)
	}
	return swapped, err
}

func (s *Switch) drift(ctx context.Context, k *Executor, p *Recorded) (*Drift, error) {
	now, err := k.seen(ctx, s)
	if errors.Is(err, errHidden) {
		return &Drift{Place: s.On, Want: s.After, Found: errHidden.Error(), Nested: true, Others: true}, nil
	}
	if err != nil || s.gone(now) {
		return nil, err
	}
	if d, err := s.used(ctx, k, p, now); err != nil || d != nil {
		return d, err
	}
	want := cmp.Or(p.Got, s.After)
	if now == want || now == p.Made.Before || s.ownDoing(p, now) {
		return nil, nil
	}
	if later, err := s.later(now); err != nil || later {
		return nil, err
	}
	return &Drift{Place: s.On, Want: want, Found: now, Others: s.Either}, nil
}

// later tells whether updates may have turned the state that was reached into this one.
func (s *Switch) later(now string) (bool, error) {
	if s.Later == "" {
		return false, nil
	}
	is, err := regexp.Compile("^(?:" + s.Later + ")$")
	if err != nil {
		return false, fmt.Errorf("read %s: %w: %w", s.On, errDamaged, err)
	}
	return is.MatchString(now), nil
}

// gone tells whether what the switch is of no longer exists: then nothing is left to undo.
func (s *Switch) gone(now string) bool { return now == None && s.Inspect.Dir != "" }

// ownDoing tells whether an act or an undo that was interrupted may have left this state. An undo that consists of one write
// or one statement leaves nothing between the state it found and the one it restores.
func (s *Switch) ownDoing(p *Recorded, now string) bool {
	if p.State != Undoing || p.seen == "" || now == p.seen {
		return p.State != Done
	}
	ops := s.undoing(p)
	return s.Patience > 0 || len(ops) != 1 || len(ops[0].Argv) > 0
}

// used says what keeps the switch from being undone; nil for nothing.
func (s *Switch) used(ctx context.Context, k *Executor, p *Recorded, now string) (*Drift, error) {
	if now == p.Made.Before && !s.Always || s.Either && now != s.After {
		return nil, nil
	}
	return s.Still.way(ctx, k, s.On)
}

// undo brings a switch back to the state before.
func (s *Switch) undo(ctx context.Context, k *Executor, _ *Change, p *Recorded, _ bool) error {
	before := p.Made.Before
	now, err := k.seen(ctx, s)
	if err != nil || s.gone(now) || now == before && !s.Always && (p.State == Done || s.Exact) {
		return err
	}
	if s.Either && now != before && now != s.After {
		return inTheWay(s.drift(ctx, k, p))
	}
	if err := inTheWay(s.used(ctx, k, p, now)); err != nil {
		return err
	}
	defer k.says(s, before)()
	if err := s.operate(ctx, k, s.undoing(p), before, before); err != nil {
		return err
	}
	got, err := s.reach(ctx, k, before)
	if err == nil && got != before {
		err = fmt.Errorf("%s did not accept its old value %s: it is %s", s.On, before, got)
	}
	return err
}

// operate runs operations, and repeats them while they fail, for as long as Again says.
func (s *Switch) operate(ctx context.Context, k *Executor, ops []Op, before, want string) error {
	if s.Again == 0 {
		return operate(ctx, k.Doer, ops, before)
	}
	return await.Until(ctx, time.Duration(s.Again)*time.Millisecond, func() (bool, error) {
		err := operate(ctx, k.Doer, ops, before)
		if err == nil {
			return true, nil
		}
		now, seen := inspect(ctx, k.Doer, s.Inspect)
		return seen != nil || now == want, err // it was done all the same, or cannot be read
	})
}

// undoing gives the operations that bring a state back.
func (s *Switch) undoing(p *Recorded) []Op {
	switch {
	case p.Spared():
		return s.Keep
	case p.Made.Before == None && s.UndoNone != nil:
		return s.UndoNone
	}
	return s.Undo
}

func (s *Switch) words(p *Recorded) (before, after string) {
	return p.Made.Before, cmp.Or(p.Got, s.After)
}

func (s *Switch) back(p *Recorded) []Op {
	ops := slices.Clone(s.undoing(p))
	for i, o := range ops {
		ops[i] = o.filled(p.Made.Before)
	}
	return ops
}
