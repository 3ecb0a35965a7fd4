package host_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/host"
	"plumb/test/sandbox"
)

// liveTime is how long the reader below lives: half a minute, five of
// make test-real, or as PLUMB_LIVE says, such as 1h.
func liveTime(t *testing.T) time.Duration {
	t.Helper()
	if text := os.Getenv("PLUMB_LIVE"); text != "" {
		d, err := time.ParseDuration(text)
		sandbox.Need(t, err)
		return d
	}
	if os.Getenv("PLUMB_REAL") != "" {
		return 5 * time.Minute
	}
	return 30 * time.Second
}

// A reader that is kept while real servers are restarted, killed and taken their
// logins from, and while a filesystem hangs and comes back, sees each thing as it is
// within its next turn, and nothing is left of what hung.
func TestLiveHostThatIsKept(t *testing.T) {
	for name, p := range products() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watchOne(t, p)
			began, goroutines := time.Now(), runtime.NumGoroutine()
			turns := 0
			for end := began.Add(liveTime(t)); time.Now().Before(end); turns++ {
				w.disturb()
				time.Sleep(w.turn)
				w.look(turns)
			}
			w.mount.goAway()
			w.start()
			w.give()
			time.Sleep(w.turn)
			w.look(turns)
			t.Logf("%d turns in %v: %v", turns, time.Since(began).Round(time.Second), w.did)
			if n := runtime.NumGoroutine(); n > goroutines+30 {
				t.Errorf("%d goroutines, and %d at the start", n, goroutines)
			}
		})
	}
}

// watched is a server and a mount that are disturbed, and the reader that looks on.
type watched struct {
	product
	t       *testing.T
	turn    time.Duration
	live    *host.Live
	target  host.Target
	box     *sandbox.Box
	server  *sandbox.Server
	mount   *wobbly
	chance  *rand.Rand
	up      bool
	allowed bool
	did     map[string]int
}

func watchOne(t *testing.T, p product) *watched {
	sandbox.NeedLong(t, "starts a real server: run without -short")
	box := sandbox.ForTest(t, "")
	w := &watched{product: p, t: t, turn: min(time.Minute, liveTime(t)/20), box: box, allowed: true, did: map[string]int{}, chance: rand.New(rand.NewPCG(3, 4))}
	w.mount = newWobbly(t)
	w.start()
	w.exec(p.makeUser)
	dsn, target, err := p.userOf(w.server.Socket)
	sandbox.Need(t, err)
	w.target = target
	w.live = host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{target.Engine: p.dialer}, DSN: dsn,
		Again: w.turn * 3 / 4, FileTime: min(5*time.Second, w.turn/8)})
	t.Cleanup(func() { w.live.Close() })
	return w
}

func (w *watched) exec(statement string) {
	w.t.Helper()
	var db *sql.DB
	db, err := w.server.Open()
	if err == nil {
		defer db.Close()
		_, err = db.Exec(statement)
	}
	sandbox.Need(w.t, err)
}

// disturb changes some of the things at once; each goes and comes back.
func (w *watched) disturb() {
	w.t.Helper()
	for _, d := range []struct {
		name string
		now  bool
		do   func()
	}{
		{"login lost", w.up && w.allowed, w.lose},
		{"login given back", w.up && !w.allowed, w.give},
		{"server stopped", w.up, func() { w.stop(w.server.Stop) }},
		{"server killed", w.up, func() { w.stop(w.server.Kill) }},
		{"server started", !w.up, w.start},
		{"server restarted", w.up, func() { w.stop(w.server.Stop); w.start() }},
		{"session killed", w.up && w.allowed, func() { w.exec(w.killAll) }},
		{"mount hung", !w.mount.hangs(), w.mount.come},
		{"mount gone, its threads left", w.mount.hangs(), w.mount.leave},
		{"mount gone", w.mount.hangs(), w.mount.goAway},
	} {
		// A thing may have changed by what was done just before.
		if d.now && w.chance.IntN(2) == 0 && w.still(d.name) {
			d.do()
			w.did[d.name]++
		}
	}
}

func (w *watched) still(name string) bool {
	switch name {
	case "server stopped", "server killed", "server restarted":
		return w.up
	case "login given back", "session killed":
		return w.up
	case "mount gone", "mount gone, its threads left":
		return w.mount.hangs()
	}
	return true
}

func (w *watched) stop(how func() error) {
	w.t.Helper()
	sandbox.Need(w.t, how())
	for late := time.Now().Add(time.Minute); unix.Kill(w.server.PID, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			w.t.Fatal("the server does not end")
		}
	}
	w.up = false
}

func (w *watched) start() {
	w.t.Helper()
	if w.up {
		return
	}
	var err error
	w.server, err = w.product.start(w.box)
	sandbox.Need(w.t, err)
	w.up = true
}

func (w *watched) lose() { w.exec(w.lock); w.exec(w.killAll); w.allowed = false }

func (w *watched) give() {
	if !w.allowed {
		w.exec(w.unlock)
		w.allowed = true
	}
}

// look reads everything as a probe would, more than once in a turn, and compares
// what is seen at last with what is.
func (w *watched) look(turn int) {
	w.t.Helper()
	ctx := w.t.Context()
	var want, got error
	switch {
	case !w.up:
		want = host.ErrDown
	case !w.allowed:
		want = host.ErrLogin
	}
	for range 3 {
		_, got = w.live.Query(ctx, w.target, w.product.ask)
	}
	if !errors.Is(got, want) || want == nil && got != nil {
		w.t.Errorf("turn %d: the server is %v, and seen is %v", turn, want, got)
	}
	file := filepath.Join(w.mount.dir, "file")
	for what, read := range map[string]func() error{
		"read":   func() error { _, err := w.live.ReadFile(ctx, file); return err },
		"stat":   func() error { _, err := w.live.Stat(ctx, file); return err },
		"statfs": func() error { _, err := w.live.Statfs(ctx, w.mount.dir); return err },
		"glob":   func() error { _, err := w.live.Glob(ctx, w.mount.dir+"/f*"); return err },
	} {
		began := time.Now()
		err := read()
		if hangs := errors.Is(err, context.DeadlineExceeded); hangs != w.mount.hangs() || !hangs && err != nil {
			w.t.Errorf("turn %d: the mount hangs: %v, and %s says %v", turn, w.mount.hangs(), what, err)
		}
		if took := time.Since(began); took > w.turn {
			w.t.Errorf("turn %d: %s took %v", turn, what, took)
		}
	}
}

// wobbly is a directory with a file, over which a filesystem that nobody answers
// for is mounted at times.
type wobbly struct {
	t   *testing.T
	dir string
	fd  int
	old []int // of mounts that are gone, and on which threads still wait
}

func newWobbly(t *testing.T) *wobbly {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	w := &wobbly{t: t, dir: t.TempDir(), fd: -1}
	sandbox.Need(t, os.WriteFile(filepath.Join(w.dir, "file"), []byte("alive"), 0o600))
	w.come()
	t.Cleanup(func() {
		w.goAway()
		for _, fd := range w.old {
			unix.Close(fd)
		}
	})
	return w
}

func (w *wobbly) hangs() bool { return w.fd >= 0 }

func (w *wobbly) come() {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		w.t.Skipf("needs FUSE: %v", err)
	}
	if err := unix.Mount("plumb-test", w.dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)); err != nil {
		unix.Close(fd)
		w.t.Skipf("needs a mount: %v", err)
	}
	w.fd = fd
}

// goAway ends whatever waits.
func (w *wobbly) goAway() {
	if w.hangs() {
		unix.Close(w.fd)
		w.unmount()
	}
}

// leave takes the mount away as umount -l does: who waits on it waits on. Of such
// mounts there are few at a time, as on a real host.
func (w *wobbly) leave() {
	w.old = append(w.old, w.fd)
	w.unmount()
	if len(w.old) > 3 {
		unix.Close(w.old[0])
		w.old = w.old[1:]
	}
}

func (w *wobbly) unmount() {
	if err := unix.Unmount(w.dir, unix.MNT_DETACH); err != nil {
		w.t.Error(err)
	}
	w.fd = -1
}
