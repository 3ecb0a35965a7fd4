package volume

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/group"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/zfs"
	"plumb/test/sandbox"
)

// needZFS takes the machine's only ZFS for a test.
func needZFS(t *testing.T) {
	t.Helper()
	sandbox.NeedLong(t, "makes volumes: run without -short")
	if os.Geteuid() != 0 {
		t.Skip("a pool needs root")
	}
	h := host.NewLive(host.LiveOptions{})
	defer h.Close()
	if _, err := checkPool(t.Context(), h, experiment.Volume{Kind: experiment.Zpool, Size: 256 << 20}); err != nil {
		t.Skip(err)
	}
	f, err := sandbox.Alone("zfs-fuse")
	must(t, err)
	t.Cleanup(func() { f.Close() })
	if !openZFS(t.Context(), h) && exec.Command("zpool", "list").Run() == nil {
		t.Skip("somebody's zfs-fuse runs")
	}
}

func TestPools(t *testing.T) {
	needZFS(t)
	for name, v := range map[string]experiment.Volume{
		"plain":  {},
		"copy":   {Clone: "copy", Properties: map[string]string{"recordsize": "16K", "compression": "gzip-1"}, ARC: 32 << 20},
		"mirror": {Layout: "mirror", Log: 64 << 20, Cache: 64 << 20, Pool: map[string]string{"ashift": "12"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := labBox(t)
			v.Kind, v.Size = experiment.Zpool, 256<<20
			p, err := New().Make(t.Context(), b, "v1", v)
			must(t, err)
			want := "snapshot"
			if v.Clone != "" {
				want = v.Clone
			}
			trials(t, p, want, 999, true)
			readsFromDevice(t, p)
			must(t, p.Close(t.Context()))
			onlyLogs(t, b)
		})
	}
}

// TestPoolWithLogsApart puts a directory of each clone on a dataset of its own.
func TestPoolWithLogsApart(t *testing.T) {
	needZFS(t)
	b := labBox(t)
	v, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Zpool, Size: 256 << 20,
		Properties: map[string]string{"recordsize": "16K", "atime": "off"}, Logs: map[string]string{"recordsize": "64K"}})
	must(t, err)
	golden, err := v.Golden(t.Context(), 999, 999)
	must(t, err)
	fill(t, golden, 999)
	for range 2 {
		dir, _, err := v.Clone(t.Context())
		must(t, err)
		must(t, v.Apart(t.Context(), "#redo", 999, 999))
		must(t, os.WriteFile(filepath.Join(dir, "#redo", "log"), make([]byte, 1<<20), 0o600))
		f, err := v.Facts(t.Context())
		must(t, err)
		if f.Properties["recordsize"] != "16K" || f.Properties["log recordsize"] != "64K" || f.Properties["log atime"] != "off" {
			t.Errorf("the clone and its logs are %v", f.Properties)
		}
		var st syscall.Stat_t
		must(t, syscall.Stat(filepath.Join(dir, "#redo"), &st))
		if st.Uid != 999 || st.Gid != 999 || st.Mode&0o777 != 0o700 {
			t.Errorf("the logs belong to %d:%d, %o", st.Uid, st.Gid, st.Mode)
		}
		text, err := b.Do.Run(t.Context(), zfs.Values(v.(*pool).name+"/data")...)
		must(t, err)
		data, ok := number(zfs.ParseValues(text)["referenced"])
		if both := v.Counters(t.Context())[spaceUsed]; !ok || both <= data {
			t.Errorf("both take %.0f, and the data alone %.0f", both, data)
		}
		must(t, v.Drop(t.Context()))
		if _, err := os.Stat(filepath.Join(dir, "#redo", "log")); err == nil {
			t.Error("the logs are left")
		}
	}
	must(t, v.Close(t.Context()))
	onlyLogs(t, b)
}

func onlyLogs(t *testing.T, b lab.Workspace) {
	t.Helper()
	left, err := os.ReadDir(b.Dir)
	must(t, err)
	for _, e := range left {
		if e.Name() != ".plumb-lab" && e.Name() != "zfs-fuse.log" && e.Name() != "zfs-fuse.pid" {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// readsFromDevice checks that nothing of a clone is cached, not in the ARC
// either: reading it has to read the device.
func readsFromDevice(t *testing.T, v lab.Volume) {
	t.Helper()
	dir, _, err := v.Clone(t.Context())
	must(t, err)
	before := v.Counters(t.Context())
	text, err := os.ReadFile(filepath.Join(dir, "base/table.ibd"))
	must(t, err)
	after := v.Counters(t.Context())
	took := after[deviceRead] - before[deviceRead]
	t.Logf("reading %d bytes took %.0f of the devices, compression %v", len(text), took, after[compression])
	if ratio := max(after[compression], 1); took < float64(len(text))/ratio/2 {
		t.Error("the data were cached")
	}
	must(t, v.Drop(t.Context()))
}

func TestPoolsWithTwoARCs(t *testing.T) {
	needZFS(t)
	b, m := labBox(t), New()
	var all []lab.Volume
	for i, arc := range []experiment.Bytes{32 << 20, 64 << 20} {
		v, err := m.Make(t.Context(), b, "v"+string(rune('1'+i)), experiment.Volume{Kind: experiment.Zpool, Size: 128 << 20, ARC: arc})
		must(t, err)
		_, err = v.Golden(t.Context(), 0, 0)
		must(t, err)
		all = append(all, v)
	}
	for range 2 {
		for i, v := range all {
			_, _, err := v.Clone(t.Context())
			must(t, err)
			bounded(t, b, experiment.Bytes(32<<20)<<i+fuseNeeds)
			must(t, v.Drop(t.Context()))
		}
	}
	for _, v := range all {
		must(t, v.Close(t.Context()))
	}
	onlyLogs(t, b)
	bounded(t, b, 0)
}

// A trial begins with a zfs-fuse that has all of its memory still, and the data of the other pools are where they were.
func TestEachTrialHasAZFSOfItsOwn(t *testing.T) {
	needZFS(t)
	b, m := labBox(t), New()
	if openZFS(t.Context(), b.Do) {
		t.Skip("the kernel has ZFS")
	}
	var all []lab.Volume
	var golden []string
	for _, name := range []string{"v1", "v2"} {
		v, err := m.Make(t.Context(), b, name, experiment.Volume{Kind: experiment.Zpool, Size: 128 << 20, ARC: 32 << 20})
		must(t, err)
		dir, err := v.Golden(t.Context(), 0, 0)
		must(t, err)
		bounded(t, b, 32<<20+fuseLoads)
		fill(t, dir, 0)
		all, golden = append(all, v), append(golden, dir)
	}
	for _, v := range all {
		before := v.(*pool).medium.fuse.thing.Name
		_, _, err := v.Clone(t.Context())
		must(t, err)
		if now := v.(*pool).medium.fuse.thing.Name; now == before {
			t.Errorf("process %s goes on", now)
		}
		bounded(t, b, 32<<20+fuseNeeds)
		for _, dir := range golden {
			if _, err := os.Stat(filepath.Join(dir, "base/table.ibd")); err != nil {
				t.Error(err)
			}
		}
		must(t, v.Drop(t.Context()))
	}
	for _, v := range all {
		must(t, v.Close(t.Context()))
	}
	onlyLogs(t, b)
	bounded(t, b, 0)
}

// bounded checks how much memory zfs-fuse has with its page cache; 0: there is
// no control group.
func bounded(t *testing.T, b lab.Workspace, want experiment.Bytes) {
	t.Helper()
	tree, err := group.Find(t.Context(), b.Do)
	if err != nil || openZFS(t.Context(), b.Do) {
		return
	}
	dir := tree.Group("plumb-lab-" + b.Run + "-zfs-fuse").Dirs()[0]
	text, err := os.ReadFile(filepath.Join(dir, "memory.limit_in_bytes"))
	if err != nil {
		text, err = os.ReadFile(filepath.Join(dir, "memory.max"))
	}
	if want == 0 && err == nil || want > 0 && strings.TrimSpace(string(text)) != strconv.FormatInt(int64(want), 10) {
		t.Errorf("%s allows %q, %v; want %s", dir, text, err, want)
	}
}

func TestPoolIsTakenAwayByItsBook(t *testing.T) {
	for _, signal := range []syscall.Signal{0, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) { takeAway(t, signal) })
	}
}

// takeAway leaves a pool to the book, after zfs-fuse got a signal.
func takeAway(t *testing.T, signal syscall.Signal) {
	needZFS(t)
	b := labBox(t)
	v, err := New().Make(t.Context(), b, "v1", experiment.Volume{Kind: experiment.Zpool, Size: 128 << 20})
	must(t, err)
	golden, err := v.Golden(t.Context(), 0, 0)
	must(t, err)
	fill(t, golden, 0)
	_, _, err = v.Clone(t.Context())
	must(t, err)
	if d := v.(*pool).medium.fuse; d != nil && signal != 0 {
		pid, err := strconv.Atoi(d.thing.Name)
		must(t, err)
		must(t, syscall.Kill(pid, signal))
	}
}
