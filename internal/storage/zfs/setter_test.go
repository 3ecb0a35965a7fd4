package zfs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/host"
	"plumb/internal/host/chroot"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/internal/zfs"
	"plumb/test/sandbox"
)

// The conformance suite on a dataset of zfs-fuse: a property that is
// inherited, one that is its own, and one that is not inherited at all.
func TestSuiteOnADataset(t *testing.T) {
	sandbox.NeedLong(t, "makes a pool: run without -short")
	box := sandbox.ForTest(t, "")
	pool, err := box.ZFSFuse(100)
	sandbox.Need(t, err)
	if _, err := pool.Dataset("db", "logbias=throughput"); err != nil {
		t.Fatal(err)
	}
	doer := hosttest.LiveDoer(t)
	cat := hosttest.Catalog(t)
	// What was received and not set here must be received again after an undo.
	receive := exec.Command("sh", "-c", "zfs snapshot $1/db@s && zfs send -p $1/db@s | zfs receive $1/copy", "sh", pool.Name)
	if out, err := receive.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	for _, c := range []struct {
		name, knob string
		to         stack.Value
	}{
		{"db", "recordsize", stack.Int(16384)}, {"db", "logbias", stack.Text("latency")}, {"db", "quota", stack.Int(50 << 20)},
		{"db", "reservation", stack.Int(1 << 20)}, {"copy", "logbias", stack.Text("latency")},
	} {
		of, knob, to := pool.Name+"/"+c.name, c.knob, c.to
		t.Run(c.name+" "+knob, func(t *testing.T) {
			changetest.Run(t, changetest.Case{Doer: doer, Setter: Setter{}, Catalog: cat, Dir: changetest.Journal(t.TempDir()), Few: 120,
				Knob: stack.Knob{Of: stack.Ref{Kind: "dataset", Name: of}, Name: knob}, To: to,
				Observe: func() *stack.Stack { return observed(t, doer) },
				State: func() string {
					columns := "value,source"
					if knob == "quota" || knob == "reservation" { // 0 is none, whoever said so
						columns = "value"
					}
					out, err := exec.Command("zfs", "get", "-Hp", "-o", columns, knob, of).CombinedOutput()
					if err != nil {
						t.Fatal(err, string(out))
					}
					return string(out)
				},
				Meddle: map[string]func(){"logbias": nil, "recordsize": func() { must(t, pool.Set("db", "recordsize=32768")) }}[knob]})
			if c.name == "copy" && !strings.Contains(source(t, knob, of), "received") {
				t.Errorf("%s of %s is from %s", knob, of, source(t, knob, of))
			}
		})
	}
}

func observed(t *testing.T, h host.Reader) *stack.Stack {
	t.Helper()
	s := &stack.Stack{}
	obs, err := NewProbe(hosttest.Catalog(t)).Collect(context.Background(), h, s)
	must(t, err)
	s.Add("zfs", obs)
	return s
}

func source(t *testing.T, knob, of string) string {
	t.Helper()
	out, err := exec.Command("zfs", "get", "-Hp", "-o", "source", knob, of).CombinedOutput()
	must(t, err)
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSetterOfParameters(t *testing.T) {
	cat := hosttest.Catalog(t)
	files := map[string]string{
		parametersDir + "zfs_arc_max": "0\n", parametersDir + "zfs_arc_min": "134217728\n", parametersDir + "zfs_txg_timeout": "5\n", parametersDir + "zfs_dirty_data_max_max": "4294967296\n",
		parametersDir + "zfs_prefetch_disable": "0\n", parametersDir + "zfs_commit_timeout_pct": "10\n",
		"/proc/cmdline": "ro zfs.zfs_txg_timeout=5\n", "/proc/meminfo": "MemTotal: 16777216 kB\n",
		zfs.ARCStats:               "name type data\nc_min 4 536870912\nc_max 4 8589934592\n",
		"/etc/modprobe.d/zzz.conf": "options zfs zfs_arc_max=1 zfs_commit_timeout_pct=7\n", "/run/modprobe.d/zzzz.conf": "options zfs zfs_prefetch_disable=1\n",
		"/lib/modprobe.d/zzz.conf": "options zfs zfs_arc_min=7\n", // hidden
	}
	recipe := func(name string, to int64) (change.Recipe, error) {
		return Setter{}.Recipe(t.Context(), hosttest.Map{Files: files}, &stack.Stack{}, change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "zfs", Name: "module"}, Name: name}, To: stack.Int(to), Fact: cat.Fact("zfs", name)})
	}
	r, err := recipe("zfs_arc_max", 4<<30)
	if err != nil || r.Lasts != "/etc/modprobe.d/zzz.conf" || len(r.Acts) != 2 || r.Acts[1].Edit.Ours {
		t.Fatalf("%+v, %v", r, err)
	}
	if undo := r.Acts[0].Switch.Undo; len(undo) != 2 || undo[0].Write.Text != "8589934592" || undo[1].Write.Text != "{before}" || !strings.Contains(r.Notes[0], "8589934592") {
		t.Errorf("an ARC limit of 0 is undone by %+v, with %q", undo, r.Notes)
	}
	for _, c := range []struct {
		name string
		to   int64
		acts int
	}{{"zfs_arc_min", 1 << 30, 2}, {"zfs_arc_min", 0, 1}, {"zfs_dirty_data_max_max", 1 << 30, 1}, {"zfs_commit_timeout_pct", 5, 2}} {
		r, err := recipe(c.name, c.to)
		if err != nil || len(r.Acts) != c.acts || (r.Waits == "") != (c.acts == 2) {
			t.Errorf("%s = %d: %+v, %v", c.name, c.to, r, err)
		}
	}
	for _, c := range []struct {
		name string
		to   int64
		want string
	}{
		{"zfs_txg_timeout", 7, "kernel's command line"}, {"zfs_dirty_data_max", 1 << 30, "has no parameter"}, {"zfs_prefetch_disable", 1, "/run/modprobe.d/zzzz.conf sets it too"},
		{"zfs_arc_max", 512 << 20, "would ignore it"}, {"zfs_arc_max", 16 << 30, "would ignore it"}, {"zfs_arc_min", 9 << 30, "would ignore it"}, {"zfs_arc_min", 1 << 20, "would ignore it"},
	} {
		if _, err := recipe(c.name, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %d: %v", c.name, c.to, err)
		}
	}
}

// What a running module does with parameters, as far as it matters here: a
// limit of 0 leaves the size in force.
func TestParameterInAScratchRoot(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{parametersDir + "zfs_arc_max": "0\n", zfs.ARCStats: "c_max 4 8589934592\n", "/etc/modprobe.d/zfs.conf": "options zfs zfs_txg_timeout=5\n", "/proc/meminfo": "MemTotal: 16777216 kB\n"} {
		must(t, errors.Join(os.MkdirAll(filepath.Dir(dir+name), 0o755), os.WriteFile(dir+name, []byte(text), 0o644)))
	}
	doer := hosttest.LiveDoer(t)
	cat := hosttest.Catalog(t)
	changetest.Run(t, changetest.Case{Doer: chroot.New(doer, dir), Setter: Setter{}, Catalog: cat, Dir: "/var/lib/plumb", Few: 7,
		Knob: stack.Knob{Of: stack.Ref{Kind: "zfs", Name: "module"}, Name: "zfs_arc_max"}, To: stack.Int(4 << 30),
		Observe: func() *stack.Stack {
			var obs stack.Observation
			obs.New("zfs", "module").Set("zfs_arc_max", stack.Int(0), "test")
			s := &stack.Stack{}
			s.Add("zfs", obs)
			return s
		},
		State: func() string {
			now, err := os.ReadFile(dir + parametersDir + "zfs_arc_max")
			must(t, err)
			ours, _ := os.ReadFile(dir + modprobeOurs) // none is a state too
			return string(now) + string(ours)
		},
		Meddle: func() { must(t, os.WriteFile(dir+parametersDir+"zfs_arc_max", []byte("77\n"), 0o644)) }})
}

func TestSetterOfDatasetsRefuses(t *testing.T) {
	var obs stack.Observation
	ds := obs.New("dataset", "tank/v")
	for name, v := range map[string]stack.Value{"volsize": stack.Int(100), "quota": stack.Int(0), "used": stack.Int(50), "refquota": stack.Int(0), "referenced": stack.Int(40), "readonly": stack.Text("off"), "mountpoint": stack.Text("/v")} {
		ds.Setting(name, v, "test", stack.Origin{From: stack.FromLocal})
	}
	ds.SetAbsent("direct", "test")
	var s stack.Stack
	s.Add("zfs", obs)
	cat := hosttest.Catalog(t)
	for name, c := range map[string]struct {
		to   stack.Value
		want string
	}{
		"volsize": {stack.Int(50), "loses what is at its end"}, "refquota": {stack.Int(10), "contains more"}, "quota": {stack.Int(10), "contains more than that"}, "readonly": {stack.Text("on"), "could no longer write"},
		"mountpoint": {stack.Text("/w"), "would move files away"}, "direct": {stack.Text("standard"), "has no property direct"},
	} {
		_, err := Setter{}.Recipe(t.Context(), hosttest.Map{}, &s, change.Want{Knob: stack.Knob{Of: ds.Ref, Name: name}, To: c.to, Fact: cat.Fact("dataset", name)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
