package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// clock is one that a test turns.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) turn(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// aServer can be away, refuse logins, and be started again, which ends its sessions.
type aServer struct {
	refuses error
	life    int
	dials   int
}

type aSession struct {
	*aServer
	life int
}

func (s *aServer) Dial(context.Context, Target, func(string) ([]byte, error)) (Session, error) {
	s.dials++
	return aSession{s, s.life}, s.refuses
}

func (s *aServer) Reads(string) bool { return true }

func (s aSession) Query(context.Context, string, QueryLimits) (Rows, error) {
	if s.refuses != nil || s.life != s.aServer.life {
		return Rows{}, fmt.Errorf("%w: the connection ended", ErrDown)
	}
	return Rows{}, nil
}

func (s aSession) Close() error { return nil }

// A reader that lives for an hour, of one turn a minute, in which a login is
// lost, the server is down and started again, and a path hangs, sees each again
// within the next turn, and bothers nobody much meanwhile.
func TestLiveSeesEachThingAgainWithinItsNextTurn(t *testing.T) {
	synctest.Test(t, seesEachThingAgain) // on a busy machine a path that answers at once can seem to hang
}

func seesEachThingAgain(t *testing.T) {
	c := &clock{now: time.Unix(1e9, 0)}
	server := &aServer{}
	l := newTestLive(t, LiveOptions{Now: c.Now, FileTime: 300 * time.Millisecond, Dialers: map[string]Dialer{"fake": server}})
	var hung chan struct{} // nil when the path answers
	look := func() error {
		gate := hung
		_, err := onFile(t.Context(), l, "/srv/nfs/file", true, func(context.Context) (int, error) {
			if gate != nil {
				<-gate
			}
			return 0, nil
		})
		return err
	}
	ask := func() error {
		_, err := l.Query(t.Context(), Target{Engine: "fake", Name: "a"}, "SELECT 1")
		return err
	}
	for minute := range 60 {
		switch {
		case minute%20 == 5:
			server.refuses = ErrLogin
		case minute%20 == 12:
			server.refuses = ErrDown
		case minute%20 == 8, minute%20 == 13:
			server.refuses = nil
		case minute%5 == 0:
			server.life++
		}
		if minute%15 == 3 {
			hung = make(chan struct{})
		}
		if at := minute % 15; hung != nil && (at == 4 || at == 14) { // at once, or after ten turns
			close(hung)
			hung = nil
			for l.stuck.n.Load() > 0 {
				time.Sleep(time.Millisecond)
			}
			if at == 4 {
				hung = make(chan struct{})
			}
		}
		before := server.dials
		var last error
		for range 10 {
			last = ask()
		}
		if !errors.Is(last, server.refuses) || server.refuses == nil && last != nil {
			t.Errorf("minute %d: the server says %v, seen is %v", minute, server.refuses, last)
		}
		if n := server.dials - before; n > maxDials {
			t.Errorf("minute %d: %d logins", minute, n)
		}
		for range 10 {
			last = look()
		}
		if (last != nil) != (hung != nil) {
			t.Errorf("minute %d: the path hangs: %v, seen is %v", minute, hung != nil, last)
		}
		if n := l.stuck.n.Load(); n > 5 {
			t.Errorf("minute %d: %d threads hang", minute, n)
		}
		c.turn(time.Minute + time.Duration(minute%3-1)*10*time.Second) // no turn is exact
	}
	if hung != nil {
		close(hung)
	}
}

// Within a check nothing is forgotten: all its probes see the same machine.
func TestLiveForgetsNothingWithinACheck(t *testing.T) {
	c := &clock{now: time.Unix(1e9, 0)}
	server := &aServer{refuses: ErrLogin}
	l := newTestLive(t, LiveOptions{Now: c.Now, FileTime: 20 * time.Millisecond, Dialers: map[string]Dialer{"fake": server}})
	tried, hung := make(chan struct{}, 30), make(chan struct{})
	defer close(hung)
	for range 30 {
		onFile(t.Context(), l, "/srv/nfs/file", true, func(context.Context) (int, error) {
			tried <- struct{}{}
			<-hung
			return 0, nil
		})
		l.Query(t.Context(), Target{Engine: "fake", Name: "a"}, "SELECT 1")
		c.turn(time.Second)
		time.Sleep(2 * time.Millisecond)
	}
	<-tried // on a busy machine it begins after it was given up
	if len(tried) > 0 || server.dials != 1 {
		t.Errorf("%d looks and %d logins within 30 s", 1+len(tried), server.dials)
	}
}

// Servers come and go under many names. A session in use is not dropped for
// another.
func TestLiveDropsSessionsThatNobodyUses(t *testing.T) {
	c := &clock{now: time.Unix(1e9, 0)}
	l := newTestLive(t, LiveOptions{Now: c.Now, Sessions: 3, Dialers: map[string]Dialer{"fake": &aServer{}}})
	ask := func(name string) error {
		_, err := l.Query(t.Context(), Target{Engine: "fake", Name: name}, "SELECT 1")
		return err
	}
	must(t, ask("always"))
	first := l.sessions["always"]
	for i := range 100 {
		for _, name := range []string{"always", fmt.Sprint("server ", i), fmt.Sprint("twin of ", i)} {
			if err := ask(name); err != nil {
				t.Errorf("minute %d: %v", i, err)
			}
		}
		if err := ask("one more"); !errors.Is(err, ErrDown) {
			t.Errorf("minute %d, one more than there may be: %v", i, err)
		}
		c.turn(time.Minute)
	}
	if l.sessions["always"] != first {
		t.Error("the one that was used was dropped")
	}
}

// Another filesystem in the place of a dead one is seen, though the threads
// that hang on the dead one never come back.
func TestLiveSeesWhatIsInThePlaceOfADeadFilesystem(t *testing.T) {
	dir := hungMount(t)
	c := &clock{now: time.Unix(1e9, 0)}
	l := newTestLive(t, LiveOptions{Now: c.Now, FileTime: time.Second})
	file := filepath.Join(dir, "file")
	for range 3 { // the second is one more try, the third none
		if _, err := l.ReadFile(t.Context(), file); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a dead filesystem: %v", err)
		}
		c.turn(time.Minute)
	}
	must(t, unix.Unmount(dir, unix.MNT_DETACH))
	must(t, os.WriteFile(file, []byte("alive"), 0o600))
	if data, err := l.ReadFile(t.Context(), file); err != nil || string(data) != "alive" {
		t.Errorf("%q, %v", data, err)
	}
	if n := l.stuck.n.Load(); n == 0 || n > 2 {
		t.Errorf("%d threads hang on the dead one", n)
	}
}

// ice is a control group of which no process can be killed, as if it waited for
// a disk.
type ice struct {
	t   *testing.T
	dir string
}

func freezer(t *testing.T) *ice {
	t.Helper()
	i := &ice{t, filepath.Join("/sys/fs/cgroup/freezer", fmt.Sprintf("plumb-%d-%d", os.Getpid(), time.Now().UnixNano()))}
	if err := os.Mkdir(i.dir, 0o755); err != nil || !isFile(filepath.Join(i.dir, "freezer.state")) {
		t.Skipf("needs the freezer of control groups of version 1: %v", err)
	}
	t.Cleanup(func() {
		i.state("THAWED")
		for n := 0; os.Remove(i.dir) != nil && n < 3000; n++ {
			time.Sleep(10 * time.Millisecond)
		}
	})
	return i
}

func isFile(name string) bool { _, err := os.Stat(name); return err == nil }

func (i *ice) state(to string) {
	if err := os.WriteFile(filepath.Join(i.dir, "freezer.state"), []byte(to), 0); err != nil {
		i.t.Error(err)
	}
}

// freeze waits for a process and freezes it.
func (i *ice) freeze() {
	for range 3000 {
		if text, _ := os.ReadFile(filepath.Join(i.dir, "cgroup.procs")); len(text) > 0 {
			i.state("FROZEN")
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	i.t.Error("no process came")
}

// argv is a command that goes onto the ice.
func (i *ice) argv() []string {
	return []string{"sh", "-c", "echo $$ >" + i.dir + "/cgroup.procs; while :; do sleep 0.01; done"}
}

// A command that cannot be killed holds nobody up, and is not left for ever.
func TestCommandsThatCannotBeKilled(t *testing.T) {
	for name, run := range map[string]func(context.Context, *LiveDoer, []string) error{
		"run": func(ctx context.Context, h *LiveDoer, argv []string) error { _, err := h.Run(ctx, argv...); return err },
		"pipe": func(ctx context.Context, h *LiveDoer, argv []string) error {
			_, err := h.Pipe(ctx, Pipe{Argv: argv, Grace: time.Second})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i, h := freezer(t), doer(t)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				i.freeze()
				time.AfterFunc(100*time.Millisecond, cancel)
			}()
			began := time.Now()
			err := run(ctx, h, i.argv())
			if took := time.Since(began); took > graceTime+20*time.Second || !strings.Contains(fmt.Sprint(err), "it waits in the kernel") {
				t.Errorf("after %v: %v", took, err)
			}
			if h.unended.n.Load() == 0 {
				t.Error("nothing was left behind: it could be killed")
			}
			i.state("THAWED")
			for n := 0; h.unended.n.Load() != 0; n++ {
				if n == 3000 {
					t.Fatal("it still counts as left behind")
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
}

// A reading command that cannot be killed is not started again every time, and is
// once it has ended.
func TestReadingCommandsThatCannotBeKilled(t *testing.T) {
	i, c := freezer(t), &clock{now: time.Unix(1e9, 0)}
	count := filepath.Join(t.TempDir(), "count")
	l := newTestLive(t, LiveOptions{Now: c.Now, CommandTime: 5 * time.Second})
	l.commands = append(l.commands, parseCommands("sh -c ...")...)
	argv := i.argv()
	argv[2] = "echo >>" + count + "; [ -e " + count + ".done ] && exit; " + argv[2]
	go i.freeze()
	for range 50 {
		if _, err := l.Output(t.Context(), argv...); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	if n := len(content(t, count)); n != 1 {
		t.Errorf("started %d times", n)
	}
	write(t, count+".done", "")
	i.state("THAWED")
	var err error
	for range 3000 {
		if _, err = l.Output(t.Context(), argv...); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("when it had ended: %v", err)
}

// A command that was only slow is run again at once.
func TestSlowReadingCommandsAreRunAgain(t *testing.T) {
	l := newTestLive(t, LiveOptions{CommandTime: 100 * time.Millisecond})
	l.commands = append(l.commands, parseCommands("sleep ?")...)
	for range 3 {
		if _, err := l.Output(t.Context(), "sleep", "100"); err == nil || strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%v", err)
		}
		for l.stuck.n.Load() > 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

func TestMountsAreTold(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	dir := filepath.Join(t.TempDir(), "a mount with spaces")
	must(t, os.Mkdir(dir, 0o755))
	above := mountOf(dir)
	if _, err := strconv.Atoi(above); err != nil {
		t.Fatalf("the mount of %s is %q", dir, above)
	}
	must(t, unix.Mount("plumb-test", dir, "tmpfs", 0, ""))
	defer unix.Unmount(dir, unix.MNT_DETACH)
	inside := mountOf(dir + "/x")
	if inside == above || mountOf(dir+"2") != above || mountOf("/proc/self/root"+dir) != inside {
		t.Errorf("above %s, inside %s, beside %s", above, inside, mountOf(dir+"2"))
	}
}
