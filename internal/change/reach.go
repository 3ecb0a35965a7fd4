package change

import (
	"context"
	"fmt"
	"time"

	"plumb/internal/await"
	"plumb/internal/host/processes"
)

// slow is how long a state may take to show before it is said what is waited for.
const slow = 3 * time.Second

// patience is how long the state may take to show.
func (s *Switch) patience() time.Duration { return time.Duration(s.Patience) * time.Millisecond }

// says has it said what is waited for, unless that comes at once. What it gives ends that.
func (k *Executor) says(s *Switch, until string) (end func()) {
	if k.Waits == nil || s.patience() <= slow {
		return func() {}
	}
	ended, said := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(said)
		select {
		case <-ended:
		case <-time.After(slow):
			k.Waits(s.On, until, s.patience())
		}
	}()
	return func() { close(ended); <-said }
}

// reach reads a state until it is the wanted one, patience ends, or nobody is left who could bring it about. It gives the last state
// read.
func (s *Switch) reach(ctx context.Context, k *Executor, want string) (got string, err error) {
	var server pulse
	end := time.Now().Add(s.patience())
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		got, err = inspect(ctx, k.Doer, s.Inspect)
		if err == nil && got == want || !time.Now().Before(end) {
			break
		}
		if err == nil && want != None && server.over(ctx, k, s) {
			return got, fmt.Errorf("%s is %s and was to be %s: no process works in %s any more, so what was started has ended; its log says why", s.On, got, want, s.Home)
		}
		if await.Pause(ctx, min(wait, time.Until(end))) != nil {
			err = ctx.Err()
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("read %s back: %w", s.On, err)
	}
	return got, err
}

// pulse is how often nobody was seen who could bring a state about. To look at all processes takes a while.
type pulse struct {
	none int
	next time.Time
}

// over tells whether nobody was for too long. A single look says little: the machine may have stood still until then.
func (p *pulse) over(ctx context.Context, k *Executor, s *Switch) bool {
	now := time.Now()
	if s.Home == "" || now.Before(p.next) {
		return false
	}
	p.next = now.Add(s.patience() / 100)
	p.none++
	if !k.deserted(ctx, s.Home) {
		p.none = 0
	}
	return p.none > 10
}

// deserted tells whether surely no process works in a directory.
func (k *Executor) deserted(ctx context.Context, dir string) bool {
	st, err := k.Doer.Stat(ctx, dir)
	if err != nil {
		return false
	}
	by, unseen, err := processes.Using(ctx, k.Doer, st.Resolved)
	return err == nil && by == "" && (unseen == "" || k.Doer.About().Root)
}

// running tells, of a server that this would start, whether it runs already in its home, as the state says that was seen: elsewhere another
// server may listen where this one will.
func (s *Switch) running(ctx context.Context, k *Executor, seen string) bool {
	return s.starts() && seen == s.After && !k.deserted(ctx, s.Home)
}

// starts tells whether this starts a server.
func (s *Switch) starts() bool { return s.Home != "" && s.After != None }
