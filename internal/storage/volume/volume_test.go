package volume

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab/experiment"
	"plumb/internal/zfs"
)

func TestMkfs(t *testing.T) {
	for _, c := range []struct{ filesystem, more, want string }{
		{"ext4", "", "mkfs.ext4 -E lazy_itable_init=0,lazy_journal_init=0 -F -q"},
		{"ext4", "-O bigalloc", "mkfs.ext4 -E lazy_itable_init=0,lazy_journal_init=0 -F -q -O bigalloc"},
		{"ext4", "-E stride=4", "mkfs.ext4 -F -q -E stride=4,lazy_itable_init=0,lazy_journal_init=0"},
		{"ext4", "-E lazy_itable_init=1", "mkfs.ext4 -F -q -E lazy_itable_init=1"},
		{"xfs", "-m reflink=0", "mkfs.xfs -f -q -m reflink=0"},
		{"btrfs", "", "mkfs.btrfs -f -q"},
	} {
		if got := strings.Join(mkfs(c.filesystem, strings.Fields(c.more)), " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestMkfsLeavesTheExperimentAlone(t *testing.T) {
	more := []string{"-E", "stride=4"}
	mkfs("ext4", more)
	if more[1] != "stride=4" {
		t.Errorf("it is %q now", more[1])
	}
}

func TestCreatePool(t *testing.T) {
	v := experiment.Volume{Size: 1 << 30, Layout: "mirror", Log: 64 << 20, Cache: 64 << 20,
		Pool: map[string]string{"ashift": "12"}, Properties: map[string]string{"recordsize": "16K", "atime": "off"}}
	got := strings.Join(createPool("p", v, []string{"a", "b", "c", "d"}), " ")
	want := "zpool create -f -o cachefile=none -o ashift=12 -O atime=off -O recordsize=16K -m none p mirror a b log c cache d"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := poolName("run/../7 x", "v1"); got != "plumblabrun7xv1" {
		t.Errorf("the pool is named %s", got)
	}
}

func TestCheckRefuses(t *testing.T) {
	h := host.NewLive(host.LiveOptions{})
	defer h.Close()
	for _, c := range []struct {
		v    experiment.Volume
		says string
	}{
		{experiment.Volume{Kind: "tape"}, "no such kind"},
		{experiment.Volume{Kind: "directory", Profile: "gp3"}, "no filesystem, properties or profile"},
		{experiment.Volume{Kind: "directory", Clone: "snapshot"}, "cannot be done on a directory"},
		{experiment.Volume{Kind: "loop", Filesystem: "ntfs", Size: 1 << 30}, "such a filesystem is not made"},
		{experiment.Volume{Kind: "loop", Filesystem: "xfs", Size: 64 << 20}, "at least 300M"},
		{experiment.Volume{Kind: "loop", Filesystem: "ext4", Size: 1 << 30, Clone: "reflink"}, "cannot be done on ext4"},
		{experiment.Volume{Kind: "loop", Filesystem: "ext4", Size: 1 << 30, Profile: "fast"}, "volume.profile"},
		{experiment.Volume{Kind: "zpool", Size: 1 << 20}, "no device smaller than 64M"},
		{experiment.Volume{Kind: "zpool", Size: 1 << 30, Log: 1}, "volume.log"},
		{experiment.Volume{Kind: "zpool", Size: 1 << 30, Layout: "raid5"}, "no such layout"},
		{experiment.Volume{Kind: "zpool", Size: 1 << 30, Vdevs: 2}, "layout is missing"},
		{experiment.Volume{Kind: "zpool", Size: 1 << 30, Layout: "raidz", Vdevs: 2}, "cannot have so many"},
		{experiment.Volume{Kind: "zpool", Size: 1 << 30, Properties: map[string]string{"mountpoint": "/etc"}}, "not for an experiment to set"},
		{experiment.Volume{Kind: "zpool", Size: 1 << 30, Pool: map[string]string{"cachefile": "/x"}}, "not for an experiment to set"},
		{experiment.Volume{Kind: "zpool", Size: 1 << 30, Clone: "reflink"}, "cannot be done on a pool"},
	} {
		if _, err := New().Check(t.Context(), h, c.v); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", c.v, err, c.says)
		}
	}
}

func TestCheckFuse(t *testing.T) {
	for _, v := range []experiment.Volume{
		{Properties: map[string]string{"sync": "disabled"}}, {Properties: map[string]string{"compression": "lz4"}},
		{Pool: map[string]string{"autotrim": "on"}}, {ARC: 1 << 20},
	} {
		if err := checkFuse(v); err == nil {
			t.Errorf("%+v is let through", v)
		}
	}
	if err := checkFuse(experiment.Volume{ARC: 64 << 20, Pool: map[string]string{"ashift": "9"}, Properties: map[string]string{"compression": "gzip-1"}}); err != nil {
		t.Error(err)
	}
}

// TestARCOfOpenZFS: it is the machine's, and an experiment that says how large it is wants no other.
func TestARCOfOpenZFS(t *testing.T) {
	there := map[string]host.Stat{"/sys/module/zfs": {}, "/usr/sbin/zfs": {}, "/usr/sbin/zpool": {}, "/usr/sbin/losetup": {}}
	for name, c := range map[string]struct {
		files map[string]string
		arc   experiment.Bytes
		says  string
	}{
		"as it says":     {files: map[string]string{zfs.ARCStats: "c_min 4 33554432\nc_max 4 67108864\n"}, arc: 64 << 20},
		"passed over":    {files: map[string]string{zfs.ARCStats: "c_min 4 97517568\nc_max 4 2147483648\n"}, arc: 64 << 20, says: "the ARC of this machine may take 2G"},
		"nothing said":   {files: map[string]string{zfs.ARCStats: "c_max 4 2147483648\n"}},
		"of the rest":    {files: map[string]string{zfs.ARCStats: "hits 4 1\n"}, arc: 64 << 20, says: "has no c_max"},
		"cannot be seen": {arc: 64 << 20, says: zfs.ARCStats},
	} {
		t.Run(name, func(t *testing.T) {
			h := hosttest.Map{Who: host.About{Root: true}, Stats: there, Files: c.files}
			_, err := New().Check(t.Context(), h, experiment.Volume{Kind: experiment.Zpool, Size: 1 << 30, ARC: c.arc})
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

func TestWithoutRoot(t *testing.T) {
	h := host.NewLive(host.LiveOptions{})
	defer h.Close()
	if h.About().Root {
		t.Skip("this is root")
	}
	for _, v := range []experiment.Volume{
		{Kind: "loop", Filesystem: "ext4", Size: 1 << 30}, {Kind: "zpool", Size: 1 << 30},
	} {
		_, err := New().Check(t.Context(), h, v)
		if hinted := hint.Hinted(nil); err == nil || !errors.As(err, &hinted) || !strings.Contains(err.Error(), "needs root") {
			t.Errorf("%s: %v", v.Kind, err)
		}
	}
}

// From zfs-fuse 0.7.0.
const fuseGet = "type\tfilesystem\ncreation\tSat Nov 21 12:50 2026\nused\t0\nreferenced\t20.3M\ncompressratio\t1.00x\nrecordsize\t16K\nquota\tnone\n"

func TestProperties(t *testing.T) {
	if diff := cmp.Diff(map[string]string{"recordsize": "16K", "quota": "none"}, lasting(zfs.ParseValues([]byte(fuseGet)))); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]float64{"1.50x": 1.5, "143360": 143360, "0": 0, "": -1, "-": -1, "NaN": -1, "Inf": -1, "-1": -1} {
		if n, ok := number(text); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q is %v, %v", text, n, ok)
		}
	}
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte(fuseGet), "1.50x")
	f.Fuzz(func(t *testing.T, text []byte, n string) {
		lasting(zfs.ParseValues(text))
		if got, ok := number(n); ok && !(got >= 0) {
			t.Errorf("%q is %v", n, got)
		}
	})
}
