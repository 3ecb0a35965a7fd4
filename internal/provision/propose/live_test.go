package propose_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/check"
	"plumb/internal/engine/dsn"
	"plumb/internal/engine/mysql"
	mysqlhome "plumb/internal/engine/mysql/home"
	"plumb/internal/engine/postgres"
	postgreshome "plumb/internal/engine/postgres/home"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/provision/propose"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	"plumb/internal/storage/layout"
	zfsprobe "plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
	"plumb/internal/zfs"
	"plumb/test/sandbox"
)

// mover stops the server, copies, and swaps. It loses what is written after it when it is undone.
type mover struct{ socket string }

func (w mover) Move(_ context.Context, _ host.Reader, _ *stack.Stack, m provision.Move) (making provision.Making, err error) {
	sh := func(script string, args ...string) change.Op {
		return change.Op{Argv: append([]string{"sh", "-ec", script, "sh"}, args...)}
	}
	listens := change.Inspection{File: "/proc/net/unix", Match: `^[0-9A-Fa-f]+: \S+ \S+ 00010000 \S+ \S+ +\S+ (` + regexp.QuoteMeta(w.socket) + `)$`}
	add := func(s change.Switch) { making.Acts = append(making.Acts, change.Act{Switch: &s}) }
	stop, start := change.Op{Argv: m.Stop}, change.Op{Argv: m.Start}
	add(change.Switch{On: "stop", Inspect: listens, After: change.None, Do: []change.Op{stop}, Undo: []change.Op{start}, Patience: 30000, Exact: true})
	data := m.Volumes[0]
	add(change.Switch{On: "copy", Inspect: change.Inspection{File: data.Aside + "/.copied"}, After: "yes", Undo: []change.Op{sh(`find "$1" -mindepth 1 -xdev -delete || true`, data.Aside)},
		Do: []change.Op{sh(`cp -a "$1/." "$2/"; echo yes > "$2/.copied"`, m.Home.Data, data.Aside)}})
	for _, part := range m.Parts {
		for i, v := range m.Volumes {
			if v.Role == part.Roles[0] && len(part.Files) > 0 {
				add(change.Switch{On: "copy " + v.Role, Inspect: change.Inspection{File: v.Aside + "/.copied"}, After: "yes", Undo: []change.Op{sh(`find "$1" -mindepth 1 -delete`, v.Aside)},
					Do: []change.Op{sh(`mv "$1"/`+part.Files[0]+` "$2/"; echo yes > "$2/.copied"`, data.Aside, m.Volumes[i].Aside)}})
			}
		}
	}
	making.Acts = append(making.Acts, m.Place...)
	for _, v := range slices.Backward(m.Volumes) {
		add(change.Switch{On: "aside " + v.Aside, Inspect: change.Inspection{Argv: zfs.Value("mounted", v.Dataset)}, After: "no", Do: []change.Op{{Argv: zfs.Unmount(v.Dataset)}}, Undo: []change.Op{{Argv: zfs.Mount(v.Dataset)}}})
	}
	add(change.Switch{On: "name of " + data.At, Inspect: change.Inspection{File: data.At + ".before/.moved"}, After: "yes",
		Do: []change.Op{sh(`mv "$1" "$1.before"; echo yes > "$1.before/.moved"`, data.At)}, Undo: []change.Op{sh(`rm "$1.before/.moved"; rmdir "$1" || true; mv "$1.before" "$1"`, data.At)}})
	for _, v := range m.Volumes {
		add(change.Switch{On: "place of " + v.Dataset, Inspect: change.Inspection{Argv: zfs.Value("mountpoint", v.Dataset)}, After: v.At,
			Do: []change.Op{{Argv: zfs.Set("mountpoint", v.At, v.Dataset)}, sh(`zfs mount "$1" || true`, v.Dataset)}, Undo: []change.Op{sh(`zfs unmount "$1" || true`, v.Dataset), {Argv: zfs.Set("mountpoint", "{before}", v.Dataset)}, sh(`zfs unmount "$1" || true`, v.Dataset)}})
	}
	add(change.Switch{On: "start", Inspect: listens, After: w.socket, Do: []change.Op{start}, Undo: []change.Op{stop}, Patience: 60000})
	return making, nil
}

func phases(cat *catalog.Catalog) [][]observe.Probe {
	return [][]observe.Probe{
		{kernel.New(cat), process.Probe{}, block.NewProbe(cat), filesystem.Probe{}, zfsprobe.NewProbe(cat)},
		{mysql.NewProbe(cat, nil), postgres.NewProbe(cat, nil)},
	}
}

// ofTheMachine are the rules that are about what these tests share with others.
var ofTheMachine = []string{"kernel/*", "cross/kernel-*", "block/*", "zfs/pool-on-files"}

// flow opens this machine for a provision whose journal lies in a directory.
func flow(t *testing.T, dir string) propose.Flow {
	t.Helper()
	k, err := check.Load(check.Choice{Skip: ofTheMachine}, nil, func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
	sandbox.Need(t, err)
	f := propose.Flow{Know: k, Storage: layout.New(), Engines: []provision.Engine{mysqlhome.New(k.Catalog, nil), postgreshome.New(nil)},
		Setters: []change.Setter{kernel.Setter{}, process.Setter{}, block.Setter{}, filesystem.Setter{}, zfsprobe.Setter{}, mysql.NewSetter(k.Catalog, nil), postgres.NewSetter(k.Catalog, nil)}}
	f.Open = func() (*host.LiveDoer, *change.Executor, error) {
		given, err := dsn.Read("")
		if err != nil {
			return nil, nil, err
		}
		d := host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{product.MySQL: mysql.Dialer{}, product.Postgres: postgres.Dialer{}}, DSN: given.DSN, Given: given.Named()}))
		x := change.NewExecutor(d, "test")
		x.Dir = dir
		return d, x, nil
	}
	f.Look = func(ctx context.Context, h host.Reader) (*stack.Stack, error) {
		return check.Observe(ctx, h, k.Catalog, phases(k.Catalog), time.Minute)
	}
	return f
}

// commands writes what stops and starts a server of a box.
func commands(t *testing.T, b *sandbox.Box, s *sandbox.Server, pidFile string) (stop, start []string) {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID))
	sandbox.Need(t, err)
	uid, gid := b.User()
	stopping := fmt.Sprintf(`[ -e %[1]s ] || exit 0
p=$(head -n 1 %[1]s)
kill -INT $p 2>/dev/null || exit 0
kill -TERM $p 2>/dev/null || exit 0
while s=$(grep -s '^State:' /proc/$p/status); do case $s in *[ZX]*) exit 0 ;; esac; sleep 0.05; done`, pidFile)
	starting := fmt.Sprintf("setsid setpriv --reuid=%d --regid=%d --clear-groups -- '%s' >/dev/null 2>&1 </dev/null &", uid, gid, strings.Join(strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), "' '"))
	t.Cleanup(func() { sandbox.Need(t, exec.Command("sh", "-c", stopping).Run()) })
	return []string{"sh", "-c", stopping}, []string{"sh", "-c", starting}
}

func TestMariaDBIsMovedAndBack(t *testing.T) {
	b, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() { sandbox.Need(t, b.Close()) })
	b.OnClose(func() error { // what a test that failed left: directories that nobody can remove
		return exec.Command("sh", "-c", `zpool list -H -o name "$2" >/dev/null 2>&1 && zpool destroy -f "$2"; chattr -i "$1"/.*.plumb-new 2>/dev/null; true`, "sh", b.Dir, poolName(b)).Run()
	})
	_, err = b.ZFSFuse(64) // for its daemon
	sandbox.Need(t, err)
	port := sandbox.FreePort(t)
	s, err := b.MySQL(sandbox.MySQLOptions{Name: "db", Port: port})
	sandbox.Need(t, err)
	sandbox.Need(t, s.Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1), (2)"))
	f := flow(t, filepath.Join(b.Dir, "state"))
	f.Mover = mover{s.Socket}
	f.Stop, f.Start = commands(t, b, s, filepath.Join(filepath.Dir(s.Socket), "mysqld.pid"))
	sp := spec.Spec{Pool: poolOf(t, b, 2), Server: spec.Server{Product: "mariadb", Name: fmt.Sprintf("mariadb:%d", port)}}
	there(t, f, sp, s, "SELECT COUNT(*) FROM shop.t")
}

func there(t *testing.T, f propose.Flow, sp spec.Spec, s *sandbox.Server, count string) {
	t.Helper()
	began := time.Now()
	r, err := f.Apply(t.Context(), sp, func(stage string, a change.Act, done bool) {
		if !done {
			t.Logf("%v %s: %s", time.Since(began).Round(time.Millisecond), stage, a.Place())
		}
	})
	sandbox.Need(t, err)
	for _, c := range r.Stages {
		t.Logf("%+v", c)
	}
	for _, s := range r.Last.Stages {
		for _, step := range s.Steps {
			t.Logf("last: %s = %s %v", step.Knob, step.To, step.Why)
		}
	}
	for _, l := range r.Left {
		t.Errorf("left: %s %s", l.Rule.ID, l.Cases[0].Title)
	}
	for _, l := range r.Last.Refused {
		t.Logf("refused: %v", l)
	}
	ask(t, s, count, "2")
	began = time.Now()
	r, err = f.Apply(t.Context(), sp, func(stage string, a change.Act, done bool) {
		t.Errorf("again: %s: %s", stage, a.Place())
	})
	sandbox.Need(t, err)
	if took := time.Since(began); r.Acts > 0 || took > 5*time.Second {
		t.Errorf("again: %d acts in %v, %v", r.Acts, took, r.Stages)
	}
	away, err := f.TakeAway(t.Context(), propose.Of(sp), change.UndoOptions{})
	sandbox.Need(t, err)
	t.Logf("%d taken away", len(away))
	ask(t, s, count, "2")
}

func ask(t *testing.T, s *sandbox.Server, query, want string) {
	t.Helper()
	got := ""
	for range 100 {
		db, err := s.Open()
		sandbox.Need(t, err)
		err = db.QueryRow(query).Scan(&got)
		db.Close()
		if err == nil {
			break
		}
		got = err.Error()
		time.Sleep(100 * time.Millisecond)
	}
	if got != want {
		t.Errorf("%s gives %q, want %q", query, got, want)
	}
}

// poolOf is a mirror of new files of a box.
func poolOf(t *testing.T, b *sandbox.Box, n int) *spec.Pool {
	t.Helper()
	p := &spec.Pool{Name: poolName(b), Layout: spec.Mirror}
	for i := range n {
		p.Data = append(p.Data, spec.Disk{Path: filepath.Join(b.Dir, fmt.Sprintf("disk%d", i)), Size: 400 << 20})
	}
	return p
}

func poolName(b *sandbox.Box) string { return strings.ReplaceAll(filepath.Base(b.Dir), "-", "") + "p" }
