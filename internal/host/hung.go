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

// hungThings remembers what operations hung on: paths, as whatever lies below one
// will hang as well, and commands that do not end when killed. Without it a check
// that waits five seconds for each file of a dead filesystem would never end.
//
// It also forgets, because a reader may live for months. What hung is tried again
// after a while: soon if the threads that hung on it have come back, or another
// filesystem is mounted there, and else more and more rarely, because each try can
// cost one more thread.
type hungThings struct {
	mu  sync.Mutex
	all map[string]*hungThing
}

type hungThing struct {
	path  bool
	since time.Time // when it was last tried
	tries int       // how often it hung
	out   int       // how many threads have not come back
	mount string    // number of the mount on which it hung
}

// attempt is one operation. It can come back long after we stopped waiting for it.
type attempt struct {
	hung *hungThings
	back bool
	of   []*hungThing // that it hung on
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

// above returns the first of the names that something hung on, or "" if the caller may go ahead. In that case trying are the names that
// are being tried again; nobody else may try those for a while. room says that a few more threads could be lost.
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

// forgetOld forgets what may be tried again and holds no threads.
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

// subject is what an operation works on.
type subject struct {
	names []string // of the subject, and of all directories above it
	note  bool     // remember names[0] if the operation hangs
	path  bool     // the names are paths: they are avoided for a while even if the operation comes back
}

// remembering runs an operation, unless one hung on its subject before, and remembers if this one does.
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

// onFile runs an operation on a path, with the rights that the context asks for and the time limit of one file, unless one hung on
// the path or above it before. With single, the path is remembered if this one hangs. A glob is not single: it reads many directories,
// and nobody knows which one hung.
func onFile[T any](ctx context.Context, l *Live, name string, single bool, f func(context.Context) (T, error)) (T, error) {
	on := subject{names: parents(name), path: true}
	on.note = single && !isKernels(on.names[0])
	return remembering(ctx, l, on, l.options.FileTime, func(ctx context.Context) (T, error) {
		return withRights(ctx, func() (T, error) { return f(ctx) })
	})
}

// parents returns a path and all directories above it except the root.
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

// isKernels tells whether a path is in /proc, /sys or /dev. There, that one file hangs says nothing about the next.
func isKernels(name string) bool {
	_, root, _ := walk.SplitRoot(name)
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if root == "" && (name == "" || paths.Within(name, kernel)) {
			return true
		}
	}
	return false
}

// mountOf returns the kernel's number of the mount that a path is on; "" if it is not known. The number is not reused while a thread
// hangs on the mount.
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
