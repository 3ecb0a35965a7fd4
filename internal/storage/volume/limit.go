package volume

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// period is how often it is seen what was done, and the limits follow.
const period = 100 * time.Millisecond

// limiter puts what a volume of a cloud allows in force on the devices below a
// volume, and measures whether it holds. Every device is limited as if it were
// a cloud's volume of its own.
//
// A cloud's volume limits reads and writes together, the kernel each alone.
// Where a profile says "together", a goroutine looks every 100 ms at what
// the device did and divides anew; it also keeps burst credits. When the lab
// is killed the last lines stay in force until the sweep takes them back.
//
// The kernel counts a request as it enters the queue of the device, before it is merged,
// and one that is larger than the device takes (max_sectors_kb) as several.
// Amazon counts after merging, in units of 256 KiB.
type limiter struct {
	do      host.Doer
	book    *inventory.Book // where a limit is written down before it is put in force
	profile experiment.Profile
	run     string   // name of the lab run, which is in the name of the server's control group
	devices []string // "7:0"
	dir     string   // on the volume, to measure in

	gate   gate
	mu     sync.Mutex
	things []inventory.Thing
	stop   context.CancelFunc
	ended  chan struct{}
	broken error // why the limits could not be kept up
	force  map[string]string
}

// newLimiter makes the limiter of a volume. dir is a directory on it in which
// nothing else is disturbed by a file of 32 MiB for some seconds.
func newLimiter(b lab.Workspace, p experiment.Profile, devices []string, dir string) *limiter {
	return &limiter{do: b.Do, book: b.Book, run: b.Run, profile: p, devices: devices, dir: dir}
}

// Limit puts the limit in force and measures it. What it measured is given
// with an error too: that the limit is not kept ([errLoose]) or that the disk below
// is slower than what was asked ([errSlow]); the limit is in force then.
func (l *limiter) Limit(ctx context.Context) (facts []experiment.LimitFact, err error) {
	if l.profile.None() {
		return nil, nil
	}
	if err := l.Unlimit(ctx); err != nil {
		return nil, err
	}
	if len(l.devices) == 0 {
		return nil, fmt.Errorf("limit the volume to %s: it has no device of its own", l.profile)
	}
	if l.gate, err = findGate(ctx, l.do, l.run); err != nil {
		return nil, fmt.Errorf("limit the volume to %s: %w", l.profile, err)
	}
	probe, err := newProbe(l.dir, l.do, l.devices)
	if err != nil {
		return nil, fmt.Errorf("measure the limit of the volume: %w", err)
	}
	defer func() { err = errors.Join(err, probe.close()) }()
	if facts, err = l.verify(ctx, probe); err != nil && !errors.Is(err, errLoose) && !errors.Is(err, errSlow) {
		return facts, errors.Join(err, l.Unlimit(context.WithoutCancel(ctx)))
	}
	return facts, err
}

// verify measures what lasts, when there is a burst, and then what holds at
// the beginning. Each phase begins with new credits, so that measuring costs
// none.
func (l *limiter) verify(ctx context.Context, p *probe) (facts []experiment.LimitFact, err error) {
	var bad []error
	for _, ph := range phases(l.profile) {
		if err := l.begin(ctx, ph.profile); err != nil {
			return facts, err
		}
		got, err := p.measure(ctx, ph)
		facts = append(facts, got...)
		if err != nil && !errors.Is(err, errLoose) && !errors.Is(err, errSlow) {
			return facts, err
		}
		bad = append(bad, err)
	}
	if err := l.begin(ctx, l.profile); err != nil { // the credits as they were
		return facts, err
	}
	return facts, errors.Join(bad...)
}

// begin puts a profile in force, with new credits.
func (l *limiter) begin(ctx context.Context, p experiment.Profile) error {
	l.halt()
	var all []*regulated
	for _, device := range l.devices {
		r := &regulated{newRegulator(p), device, paces{}}
		if err := l.write(ctx, r); err != nil {
			return err
		}
		all = append(all, r)
	}
	if !all[0].moves() {
		return nil
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // until halt: the trial's own steps may have shorter lives
	l.stop, l.ended = stop, make(chan struct{})
	go l.follow(ctx, all, l.ended)
	return nil
}

// halt ends the goroutine.
func (l *limiter) halt() {
	if l.stop != nil {
		l.stop()
		<-l.ended
		l.stop = nil
	}
}

// write puts what a regulator decided in force. The first line of each file
// goes through the book, which takes the limit away, whatever it is by then.
// What is lowered is written first.
func (l *limiter) write(ctx context.Context, r *regulated) error {
	now := r.limits()
	lines := l.gate.lines(r.device, now)
	if now.readIOPS*max(r.was.writeIOPS, 1) > r.was.readIOPS*max(now.writeIOPS, 1) { // reads gain
		slices.Reverse(lines)
	}
	for _, n := range lines {
		if err := l.writeLine(ctx, r.device, n); err != nil {
			return fmt.Errorf("limit the volume to %s: %w", l.profile, err)
		}
	}
	r.was = now
	return nil
}

func (l *limiter) writeLine(ctx context.Context, device string, n line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := device + " " + n.file
	before, known := l.force[key]
	switch {
	case before == n.line:
		return nil
	case known:
		if err := l.do.Write(ctx, n.file, []byte(n.line)); err != nil {
			return err
		}
	default:
		t := inventory.Thing{Kind: inventory.Limit, Name: n.file, Proof: map[string]string{"line": n.line, "undo": n.undo}}
		t, err := l.book.Make(ctx, t, func(*inventory.Thing) error { return l.do.Write(ctx, n.file, []byte(n.line)) })
		if err != nil {
			return err
		}
		l.things = append(l.things, t)
	}
	if l.force == nil {
		l.force = map[string]string{}
	}
	l.force[key] = n.line
	return nil
}

// Unlimit takes the limit away. The error also tells when it could not be kept
// up meanwhile.
func (l *limiter) Unlimit(ctx context.Context) error {
	l.halt()
	l.mu.Lock()
	defer l.mu.Unlock()
	bad := []error{l.broken}
	for _, t := range slices.Backward(l.things) {
		bad = append(bad, l.book.Remove(ctx, t))
	}
	l.things, l.force, l.broken = nil, nil, nil
	return errors.Join(bad...)
}

// regulated is the regulator of one device.
type regulated struct {
	*regulator
	device string
	was    paces // limits that were written last
}

// follow lets the limits follow what is done, until it is stopped.
func (l *limiter) follow(ctx context.Context, all []*regulated, ended chan struct{}) {
	defer close(ended)
	before := make([]paces, len(all))
	for i, r := range all {
		before[i], _ = counts(ctx, l.do, r.device) // the next read tells what is wrong
	}
	last := time.Now()
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		for i, r := range all {
			c, err := counts(ctx, l.do, r.device)
			if err == nil {
				r.step(c.since(before[i], now.Sub(last).Seconds()), now.Sub(last).Seconds())
				before[i] = c
				err = l.write(ctx, r)
			}
			if err != nil && ctx.Err() == nil {
				l.mu.Lock()
				l.broken = fmt.Errorf("keep the limit of the volume up: %w", err)
				l.mu.Unlock()
				return
			}
		}
		last = now
	}
}
