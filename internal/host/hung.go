package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"plumb/internal/edit"
	"plumb/internal/host/paths"
	"plumb/internal/host/walk"
)

// hungThings remembers what an operation hung on: paths, for what lies below
// one will hang as well, and commands that do not end when killed. A check that waits
// its five seconds again for each of a dead filesystem's files never ends.
//
// It also forgets, because a reader may live for months. What hung is tried again
// after a while: soon, when the threads that hung on it have come back or another
// filesystem is mounted there, and else ever more rarely, because each try can
// cost one more thread.
type hungThings struct {
	mu  sync.Mutex
	all map[string]*hungThing
}

type hungThing struct {
	path  bool
	since time.Time // when it was last tried
	tries int       // how often it hung
	out   int       // threads that have not come back
	mount string    // on which it hung
}

// attempt is one operation, which can come back long after it was left behind.
type attempt struct {
	hung *hungThings
	back bool
	of   []*hungThing // which it was left behind on
}

const maxHung = 1000

// end says that an operation came back.
func (a *attempt) end() {
	a.hung.mu.Lock()
	defer a.hung.mu.Unlock()
	a.back = true
	for _, t := range a.of {
		t.out--
	}
}

// above gives the first of the names that something hung on, or "". When it is
// time for one more try, it is the caller's, and nobody else's for a while. room says
// that there is one for more threads that hang.
func (h *hungThings) above(names []string, now time.Time, again time.Duration, room bool) (hung string, trying []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		t := h.all[name]
		if t == nil {
			continue
		}
		if !t.due(name, now, again, room) {
			return name, nil
		}
		trying = append(trying, name)
	}
	for _, name := range trying {
		h.all[name].since = now
	}
	return "", trying
}

func (t *hungThing) due(name string, now time.Time, again time.Duration, room bool) bool {
	passed := now.Sub(t.since)
	switch {
	case t.out == 0 && !t.path:
		return true // a command that was killed has ended: it was only slow
	case passed < again:
		return false
	}
	return t.out == 0 || t.path && mountOf(name) != t.mount || room && passed >= again<<min(t.tries, 20)
}

// remember notes that an operation hung on names.
func (h *hungThings) remember(a *attempt, names []string, path bool, now time.Time, again time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[string]*hungThing{}
	}
	for _, name := range names {
		t := h.all[name]
		if t == nil && len(h.all) >= maxHung {
			h.forgetOld(now, again)
		}
		if t == nil && len(h.all) >= maxHung {
			continue
		}
		if t == nil {
			t = &hungThing{path: path}
			h.all[name] = t
		}
		if t.since = now; path {
			t.mount = mountOf(name)
		}
		t.tries++
		if !a.back {
			t.out++
			a.of = append(a.of, t)
		}
	}
}

// forgetOld makes room.
func (h *hungThings) forgetOld(now time.Time, again time.Duration) {
	for name, t := range h.all {
		if t.out == 0 && now.Sub(t.since) >= again {
			delete(h.all, name)
		}
	}
}

// forget notes that names answer again.
func (h *hungThings) forget(names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		delete(h.all, name)
	}
}

// subject is what an operation is on.
type subject struct {
	names []string // itself, and all above it
	note  bool     // when it hangs, it is remembered by its name
	path  bool     // and for a while, even when it comes back
}

// remembering runs an operation, but not on what hung before.
func remembering[T any](ctx context.Context, l *Live, on subject, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	now, again := l.options.Now(), l.options.Again
	hung, trying := l.hung.above(on.names, now, again, l.stuck.n.Load() < maxStuck/2)
	if hung != "" {
		var none T
		return none, kindError{fmt.Sprintf("%s does not answer", hung), context.DeadlineExceeded}
	}
	a := &attempt{hung: &l.hung}
	started := time.Now()
	value, err := within(ctx, &l.stuck, limit, func(ctx context.Context) (T, error) {
		defer a.end()
		return f(ctx)
	})
	late := errors.Is(err, context.DeadlineExceeded)
	switch {
	case late && time.Since(started) >= min(time.Second, limit): // a caller in a hurry has not seen it hang
		if on.note && !slices.Contains(trying, on.names[0]) {
			trying = append(trying, on.names[0])
		}
		l.hung.remember(a, trying, on.path, now, again)
	case !late && !errors.Is(err, context.Canceled):
		l.hung.forget(trying)
	}
	return value, err
}

// onFile runs an operation on a path with the rights that the context asks for,
// within the time for one file, but not
// below a path that hung before. One that hangs is remembered, if single: a
// glob reads many directories, and it is not known which one hung.
func onFile[T any](ctx context.Context, l *Live, name string, single bool, f func(context.Context) (T, error)) (T, error) {
	on := subject{names: parents(name), path: true}
	on.note = single && !isKernels(on.names[0])
	return remembering(ctx, l, on, l.options.FileTime, func(ctx context.Context) (T, error) {
		return withRights(ctx, func() (T, error) { return f(ctx) })
	})
}

// parents gives a path and all above it but the root.
func parents(name string) []string {
	all := []string{strings.TrimRight(name, "/")}
	for at := all[0]; ; {
		i := strings.LastIndexByte(at, '/')
		if i <= 0 {
			return all
		}
		at = at[:i]
		all = append(all, at)
	}
}

// isKernels reports whether a path stands for itself: below /proc, /sys and
// /dev a file that hangs says nothing of the next.
func isKernels(name string) bool {
	_, root, _ := walk.SplitRoot(name)
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if root == "" && (name == "" || paths.Within(name, kernel)) {
			return true
		}
	}
	return false
}

// mountOf gives the kernel's number of the mount that a path is on, "" for
// unknown. A thread that hangs on a mount keeps its number from being given to another.
func mountOf(name string) (number string) {
	table, root, rest := "/proc/self/mountinfo", "", name
	if _, root, rest = walk.SplitRoot(name); root != "" {
		table, rest = path.Dir(root)+"/mountinfo", "/"+rest
	}
	text, err := os.ReadFile(table)
	if err != nil {
		return ""
	}
	longest := -1
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		if point := edit.Unoctal(f[4]); paths.Within(rest, point) && len(point) >= longest {
			number, longest = f[0], len(point)
		}
	}
	return number
}
