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
	zfsprobe "plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
	"plumb/internal/zfs"
	"plumb/test/sandbox"
)

// datasets is a storage as small as one can be: it makes datasets in a pool that is there.
type datasets struct{ provision.Storage }

func (datasets) Volume(ctx context.Context, h host.Reader, v provision.Volume, o provision.Owner) (m provision.Making, err error) {
	if out, err := h.Output(ctx, zfs.Pools()...); err != nil || !slices.Contains(zfs.Names(out), zfs.PoolOf(v.Dataset)) {
		return m, err
	}
	out, err := h.Output(ctx, zfs.Below(zfs.PoolOf(v.Dataset))...)
	if err != nil || slices.Contains(zfs.Names(out), v.Dataset) {
		return m, err
	}
	options := []string{"org.plumb:act={mark}", "mountpoint=none"}
	if v.At != "" {
		options[1] = "mountpoint=" + v.At
	}
	for name, value := range v.Properties {
		options = append(options, name+"="+value)
	}
	slices.Sort(options)
	make := change.Make{Thing: change.Thing{Dataset: v.Dataset}, Do: []change.Op{{Argv: zfs.Create(v.Dataset, options...)}}, Undo: []change.Op{{Argv: zfs.Destroy(v.Dataset)}}}
	if v.At != "" {
		make.Do = append(make.Do, change.Op{Argv: []string{"chown", o.User + ":" + o.Group, v.At}})
	}
	m.Acts = []change.Act{{Make: &make}}
	return m, nil
}

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

// flow opens this machine for a provision whose journal lies in a directory.
func flow(t *testing.T, dir string) propose.Flow {
	t.Helper()
	k, err := check.Load(check.Choice{}, nil, func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
	sandbox.Need(t, err)
	f := propose.Flow{Know: k, Storage: datasets{}, Engines: []provision.Engine{mysqlhome.New(k.Catalog, nil), postgreshome.New(nil)},
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
	pool, err := b.ZFSFuse(400)
	sandbox.Need(t, err)
	port := sandbox.FreePort(t)
	s, err := b.MySQL(sandbox.MySQLOptions{Name: "db", Port: port})
	sandbox.Need(t, err)
	sandbox.Need(t, s.Exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1), (2)"))
	f := flow(t, filepath.Join(b.Dir, "state"))
	f.Mover = mover{s.Socket}
	f.Stop, f.Start = commands(t, b, s, filepath.Join(filepath.Dir(s.Socket), "mysqld.pid"))
	sp := spec.Spec{Use: pool.Name, Server: spec.Server{Product: "mariadb", Name: fmt.Sprintf("mariadb:%d", port)}}
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
	for _, l := range r.Left {
		t.Errorf("left: %s %s", l.Rule.ID, l.Cases[0].Title)
	}
	for _, l := range r.Last.Refused {
		t.Logf("refused: %v", l)
	}
	ask(t, s, count, "2")
	began = time.Now()
	r, err = f.Apply(t.Context(), sp, nil)
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
