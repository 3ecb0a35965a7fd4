package move

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/service"
	"plumb/internal/provision"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sh(t testing.TB, script string, args ...string) string {
	t.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// still is a server that says where it stands by how much it has promised.
type still struct {
	protect.Engine
	at   func() protect.Position
	says func() (string, error)
}

func (still) Kind() string { return "toy" }

func (s still) Position(context.Context, host.Reader, host.Target) (protect.Position, error) {
	return s.at(), nil
}

func (s still) Says(context.Context, host.Reader, host.Target) (string, error) { return s.says() }

// toy is a process in place of a server: it works in its data directory and listens, and each start writes a line into its data, and
// promises it outside of them.
type toy struct {
	t                   *testing.T
	dir, data, new, wal string
	at                  string // where the data go: to their own place, unless a test says otherwise
	socket, ledger      string
	start, stop         []string
	d                   *host.LiveDoer
}

const toyServer = `import fcntl, os, socket, sys, time
data, ledger, name = sys.argv[1:]
os.chdir(data)
alone = open(name + ".lock", "w")
try: fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError: sys.exit("it runs")
open(os.path.dirname(name) + "/pid", "w").write("%d\n" % os.getpid())
if os.path.exists(name): os.unlink(name)
if not os.path.exists(data + "/PG_VERSION") or not os.path.exists(data + "/pg_wal/1"): sys.exit("no data")
n = 1 + sum(1 for _ in open(ledger))
for at in data + "/base/log", data + "/pg_wal/1", ledger:
    with open(at, "a") as f: f.write("%d\n" % n)
open(data + "/base/made-%d" % (n % 2), "w").write("x" * 3000)
s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(); time.sleep(900)`

// python is one that every user can run.
func python(t testing.TB) string {
	t.Helper()
	const name = "/usr/bin/python3"
	if _, err := os.Stat(name); err != nil {
		t.Skip("no " + name + " to play a server")
	}
	return name
}

func newToy(t *testing.T, base string) *toy {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounts: run the tests as root")
	}
	t.Parallel() // each waits most of the time
	y := &toy{t: t, dir: base, data: base + "/old/db", at: base + "/old/db", new: base + "/new", wal: base + "/newwal", socket: base + "/s", ledger: base + "/ledger", d: hosttest.LiveDoer(t)}
	sh(t, `mkdir -p "$1/old/db/base/empty" "$1/old/db/pg_wal" "$1/new" "$1/newwal" "$1/there"; echo "$1/old/db" >"$1/conf"; : >"$1/ledger"; cd "$1/old/db"; echo 15 >PG_VERSION
echo first >base/log; echo first >pg_wal/1; ln base/log base/other-name; ln -s base/log link; head -c 1500000 /dev/urandom >base/large; truncate -s 40M base/holes; printf x >>base/holes
touch -d @1500000000.123456789 base/large; chmod 2750 base; chown -R 65534:65534 .; chmod 700 .; printf '%s\n' "$2" >"$1/server.py"`, base, toyServer)
	if out, err := exec.Command("setfattr", "-n", "user.plumb", "-v", "kept", y.data+"/base/large").CombinedOutput(); err != nil {
		t.Logf("no attribute is tried: %v %s", err, out)
	}
	y.start = []string{"sh", "-c", fmt.Sprintf(`grep -q "%[1]s/s$" /proc/net/unix && exit 0
setsid %[2]s %[1]s/server.py "$(cat %[1]s/conf)" %[1]s/ledger %[1]s/s >/dev/null 2>&1 </dev/null &
while kill -0 $! 2>/dev/null && ! grep -q "%[1]s/s$" /proc/net/unix; do sleep 0.02; done`, base, python(t))}
	y.stop = []string{"sh", "-c", fmt.Sprintf("p=$(cat %s/pid) && kill $p 2>/dev/null && exec timeout 30 sh -c '%s' sh $p\nexit 0", base, strings.ReplaceAll(service.Ended, "'", `'\''`))}
	y.up()
	t.Cleanup(func() {
		sh(t, y.stop[2])
		sh(t, `for m in $(grep -o " $1/[^ ]*" /proc/self/mountinfo | sort -r -u); do umount "$m" || :; done; chattr -i "$1/old/db" "$1/there/db" 2>/dev/null || :`, base)
	})
	return y
}

func (y *toy) up() {
	y.t.Helper()
	sh(y.t, y.start[2])
	for range 3000 {
		if y.listens() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	y.t.Fatal("the toy does not start")
}

func (y *toy) listens() bool {
	text, err := os.ReadFile("/proc/net/unix")
	must(y.t, err)
	return strings.Contains(string(text), y.socket+"\n")
}

// promised are the lines that the toy has promised.
func (y *toy) promised() []string {
	text, err := os.ReadFile(y.ledger)
	must(y.t, err)
	return strings.Fields(string(text))
}

// kept fails when a promised line is missing where the toy looks for its data, or it is not the toy's any more.
func (y *toy) kept(when string) {
	y.t.Helper()
	for _, file := range []string{"base/log", "base/other-name", "link", "pg_wal/1"} {
		text, err := os.ReadFile(y.now() + "/" + file)
		must(y.t, err)
		if got, want := strings.Fields(string(text)), append([]string{"first"}, y.promised()...); fmt.Sprint(got) != fmt.Sprint(want) {
			y.t.Fatalf("%s: %s holds %v, and promised were %v", when, file, got, want)
		}
	}
}

// now is where the toy looks for its data.
func (y *toy) now() string {
	text, err := os.ReadFile(y.dir + "/conf")
	must(y.t, err)
	return strings.TrimSpace(string(text))
}

// fixed tells of all that is not written to.
func (y *toy) fixed() string {
	return sh(y.t, `cd "$1" && find . -not -name log -not -name other-name -not -name 1 -not -name 'made-*' \( -type d -printf "%p %y %m %U:%G\n" -o -printf "%p %y %s %m %U:%G %T@ %l\n" \) | grep -v lost+found | sort
sha256sum base/large base/holes PG_VERSION; getfattr -d base/large 2>/dev/null || true; ls base | grep -c made-`, y.now())
}

func (y *toy) move() provision.Move {
	text, err := os.ReadFile(y.dir + "/pid")
	must(y.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(y.t, err)
	part := provision.Part{Name: "wal", Roles: []string{"wal"}, At: y.at + "/pg_wal", Now: y.data + "/pg_wal"}
	var told []change.Act
	if y.at != y.data {
		write := func(dir string) []string { return []string{"sh", "-c", `echo "$1" >"$2"`, "sh", dir, y.dir + "/conf"} }
		tell := change.Exactly("where the data of the toy are", change.Inspection{File: y.dir + "/conf", Match: `^(/.*)$`}, y.at, write(y.at), write(y.data))
		told = append(told, change.Act{Switch: &tell})
	}
	return provision.Move{
		Place:   told,
		Home:    provision.Home{Server: stack.Ref{Kind: "toy", Name: "1"}, Data: y.data, UID: 65534, GID: 65534, PID: pid, Target: host.Target{Network: "unix", Address: y.socket}, Parts: []provision.Part{part}},
		Volumes: []provision.Volume{{Role: "data", At: y.at, Aside: y.new}, {Role: "wal", At: part.At, Aside: y.wal}},
		Parts:   []provision.Part{part}, Stop: y.stop, Start: y.start,
	}
}

func (y *toy) mover() Mover {
	at := func() protect.Position { return protect.Position{File: "log.1", Offset: int64(len(y.promised()))} }
	must(y.t, os.WriteFile(y.dir+"/fstab", []byte("# here\n"), 0o644))
	return Mover{Engines: []protect.Engine{still{at: at, says: func() (string, error) { return y.now() + "/", nil }}}, Dir: y.dir + "/journal", Fstab: y.dir + "/fstab", Within: 20 * time.Second, Now: time.Now}
}

func (y *toy) draft() (change.Draft, provision.Making) {
	y.t.Helper()
	made, err := y.mover().Move(y.t.Context(), y.d, &stack.Stack{}, y.move())
	must(y.t, err)
	return change.Draft{Steps: []change.Prepared{provision.Step(stack.Ref{Kind: "toy", Name: "1"}, "move", made.Acts)}}, made
}

func (y *toy) executor(d host.Doer) *change.Executor {
	return &change.Executor{Doer: d, Dir: y.dir + "/journal", Plumb: "test", Now: time.Now}
}

// untouched tells what is left beside the data.
func (y *toy) untouched() string {
	return sh(y.t, `cd "$1"; ls -A old there; ls -AR new newwal; cat conf; stat -c '%u %g %a' new newwal; cat fstab; grep -c " $1/" /proc/self/mountinfo || true; ls journal 2>/dev/null | grep -v change- | grep -v '^lock$' || true`, y.dir)
}

// TestEveryDeath lets the machine die before, amid and after operations of a move: an undo and going on leave
// nothing half, and no promise is lost.
func TestEveryDeath(t *testing.T) {
	for _, to := range []string{"old", "there"} {
		t.Run(to, func(t *testing.T) {
			y := newToy(t, t.TempDir())
			y.at = y.dir + "/" + to + "/db"
			y.everyDeath(t)
		})
	}
}

func (y *toy) everyDeath(t *testing.T) {
	was, beside, fixed := "", "", ""
	stride := 17
	if sandbox.Full() {
		stride = 1
	}
	for at := 0; ; at += stride {
		y.mover()
		if at == 0 {
			was, beside = y.fixed(), y.untouched()
		}
		how := []string{hosttest.Before, hosttest.After, hosttest.Amid}[at%2+at/2%2]
		when := fmt.Sprintf("dead %s operation %d", how, at)
		m := hosttest.NewMortal(y.d, at, how)
		draft, _ := y.draft()
		must(t, os.RemoveAll(y.dir+"/journal"))
		out, err := y.executor(m).Apply(t.Context(), draft, change.ApplyOptions{})
		m.Rest()
		alive := y.executor(y.d)
		ended := m.N < at
		switch {
		case at == 0:
			must(t, err)
			y.kept("moved")
			if fixed = sh(t, `stat -c %d:%i "$1"`, y.at); y.now() != y.at {
				t.Fatalf("it runs in %s", y.now())
			}
			if fixed != sh(t, `stat -c %d:%i "$1"`, y.new) {
				t.Fatal("it did not move")
			}
			t.Logf("%d operations\n%s", m.N, y.fixed())
		case ended && err == nil:
		case at%3 == 0 && out.Number > 0:
			y.goneOn(alive, out.Number, fixed, when)
		}
		y.byHand(at%2 == 0, when)
		if all, err := alive.Changes(t.Context()); err == nil && len(all) > 0 {
			when = y.undone(alive, all[0].Number, at, how, when)
		}
		if !y.listens() {
			y.up()
		}
		y.kept(when + ", undone")
		if now := y.fixed(); strings.TrimRight(now, "0123456789\n") != strings.TrimRight(was, "0123456789\n") {
			t.Fatalf("%s: undone, it is\n%s\nin place of\n%s", when, now, was)
		}
		if now := y.untouched(); now != beside {
			t.Fatalf("%s: undone, there is\n%s\nin place of\n%s", when, now, beside)
		}
		if ended && err == nil {
			return
		}
	}
}

// goneOn goes on with a move that died, which may refuse what it was amid.
func (y *toy) goneOn(alive *change.Executor, number int, fixed, when string) {
	y.t.Helper()
	if err := alive.Resume(y.t.Context(), number); err != nil {
		if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, "what it was going to do") {
			y.t.Fatalf("%s: going on: %v", when, err)
		}
		return
	}
	y.kept(when + ", gone on")
	if now := sh(y.t, `stat -c %d:%i "$1"`, y.at); now != fixed {
		y.t.Fatalf("%s: gone on, it did not move", when)
	}
}

// byHand has somebody start the toy as he would, where there is what it needs, and stop it again.
func (y *toy) byHand(now bool, when string) {
	y.t.Helper()
	if now && !y.listens() && exists(y.now()+"/PG_VERSION") && exists(y.now()+"/pg_wal/1") && open(y.now()) {
		y.up()
		y.kept(when + ", started by hand")
		sh(y.t, y.stop[2])
	}
}

// undone undoes a move, and dies in the midst of that too; then it undoes it whole.
func (y *toy) undone(alive *change.Executor, number, at int, how, when string) string {
	y.t.Helper()
	again := 1 + at*7%45
	u := hosttest.NewMortal(y.d, again, how)
	if err := y.executor(u).Undo(y.t.Context(), []int{number}, change.UndoOptions{}); err != nil && !u.Dead() {
		y.t.Fatalf("%s: undo: %v", when, err)
	}
	u.Rest()
	when += fmt.Sprintf(", the undo too at operation %d", again)
	y.byHand(at%4 < 2, when)
	if err := alive.Undo(y.t.Context(), []int{number}, change.UndoOptions{}); err != nil {
		y.t.Fatalf("%s: undo: %v", when, err)
	}
	return when
}

// open tells whether the server's user may enter a directory.
func open(dir string) bool {
	st, err := os.Stat(dir)
	return err == nil && st.Sys().(*syscall.Stat_t).Uid != 0
}

func exists(name string) bool { _, err := os.Stat(name); return err == nil }
