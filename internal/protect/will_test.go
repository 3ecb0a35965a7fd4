package protect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
)

// heirs notes what is asked of it, in order with what is asked of the server.
type heirs struct {
	did  []string
	arms error
	ends error
}

func (h *heirs) Arm(_ context.Context, _ host.Streamer, _ host.Target, will []string, _ time.Duration) (Armed, error) {
	h.did = append(h.did, "arm "+strings.Join(will, ", "))
	return h, h.arms
}

func (h *heirs) End(_ context.Context, back bool) error {
	h.did = append(h.did, fmt.Sprintf("end %v", back))
	return h.ends
}

// locking is a server whose lock can fail.
type locking struct {
	*quietServer
	h     *heirs
	fails error
}

func (l locking) Quiesce(ctx context.Context, h host.Held, m Mode, limit time.Duration) (Quiet, error) {
	l.h.did = append(l.h.did, "lock")
	if l.fails != nil {
		return nil, l.fails
	}
	return l.quietServer.Quiesce(ctx, h, m, limit)
}

// TestWill: somebody is ready before anything is taken, is told when it was given back, and acts when that
// is not sure.
func TestWill(t *testing.T) {
	for _, c := range []struct {
		name  string
		h     heirs
		fails error
		kept  bool
		want  []string
		err   string
		doubt string
	}{
		{"in order", heirs{}, nil, false, []string{"arm unlock", "lock", "end true"}, "", ""},
		{"nobody is ready", heirs{arms: errors.New("no setsid")}, nil, false, []string{"arm unlock"}, "no setsid", ""},
		{"the lock fails", heirs{}, errors.New("cut off"), false, []string{"arm unlock", "lock", "end false"}, "cut off", ""},
		{"another's lock", heirs{}, fmt.Errorf("locked: %w", ErrUntouched), false, []string{"arm unlock", "lock", "end true"}, "locked", ""},
		{"the release fails", heirs{}, nil, true, []string{"arm unlock", "lock", "end false"}, "", "could not be released"},
		{"it took too long", heirs{ends: errors.New("given back in the midst")}, nil, false, []string{"arm unlock", "lock", "end true"}, "", "in the midst"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, machine{})
			s.server.kept = c.kept
			s.Engines, s.Heir = []Engine{locking{s.server, &c.h, c.fails}}, &c.h
			s.plan.Modes[1].Will = []string{"unlock"}
			p, err := s.Take(t.Context(), s.plan, TakeOptions{Mode: ModeLocked})
			if !slices.Equal(c.h.did, c.want) {
				t.Errorf("it did %q", c.h.did)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v", err)
			}
			if doubts := strings.Join(p.Doubts, "; "); !strings.Contains(doubts, c.doubt) || c.doubt != "" && p.Label != Crash {
				t.Errorf("%s with %q", p.Label, doubts)
			}
		})
	}
	s := newScene(t, machine{})
	s.plan.Modes[1].Will = []string{"unlock"}
	if _, err := s.Take(t.Context(), s.plan, TakeOptions{Mode: ModeLocked}); err == nil || !strings.Contains(err.Error(), "unlock") {
		t.Errorf("without anybody: %v", err)
	}
	s.plan.Modes[0].Asked, s.plan.Modes[1].Asked = true, true
	if _, err := s.plan.Choose(""); err == nil {
		t.Error("what is to be asked for is taken unasked")
	}
}
