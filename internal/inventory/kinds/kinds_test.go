package kinds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/host/identity"
	"plumb/internal/inventory"
)

// fake is a machine of maps that notes what is done to it.
type fake struct {
	host.Doer // nil: whatever else is called is a mistake of the test
	hosttest.Map
	does map[string]func(m hosttest.Map) // what a command changes
	done *[]string
}

func newFake(m hosttest.Map) fake { return fake{Map: m, done: new([]string)} }

func (f fake) About() host.About { return f.Map.About() }
func (f fake) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return f.Map.ReadFile(ctx, name)
}
func (f fake) Raw(ctx context.Context, name string) ([]byte, error) { return f.Map.ReadFile(ctx, name) }
func (f fake) Glob(ctx context.Context, pattern string) ([]string, error) {
	return f.Map.Glob(ctx, pattern)
}
func (f fake) Stat(ctx context.Context, name string) (host.Stat, error) { return f.Map.Stat(ctx, name) }
func (f fake) Readlink(ctx context.Context, name string) (string, error) {
	if _, ok := f.Map.Files[name]; ok {
		return "", errors.New("no link")
	}
	return f.Map.Readlink(ctx, name)
}
func (f fake) Statfs(ctx context.Context, name string) (host.Statfs, error) {
	return f.Map.Statfs(ctx, name)
}
func (f fake) Output(ctx context.Context, argv ...string) ([]byte, error) {
	return f.Map.Output(ctx, argv...)
}
func (f fake) Query(ctx context.Context, t host.Target, q string) (host.Rows, error) {
	return f.Map.Query(ctx, t, q)
}
func (f fake) Write(_ context.Context, name string, data []byte) error {
	*f.done = append(*f.done, "write "+name+" "+strings.TrimSpace(string(data)))
	return nil
}
func (f fake) Remove(_ context.Context, name string) error {
	*f.done = append(*f.done, "remove "+name)
	return nil
}
func (f fake) Run(ctx context.Context, argv ...string) ([]byte, error) {
	line := strings.Join(argv, " ")
	if do := f.does[line]; do != nil {
		*f.done = append(*f.done, line)
		do(f.Map)
		return nil, nil
	}
	return f.Map.Output(ctx, argv...)
}

const bootFile = "/proc/sys/kernel/random/boot_id"

// takenAway gives what was done to take a thing away.
func takenAway(t *testing.T, f fake, live bool, all ...inventory.Thing) (string, error) {
	t.Helper()
	h := inventory.Holder{Do: f, Run: "run1", Boot: "now", Live: live}
	for i, thing := range all {
		h.Entries = append(h.Entries, inventory.Entry{N: i + 1, Thing: thing, Whole: true})
	}
	err := All()[all[0].Kind].Remove(t.Context(), h, h.Entries[0])
	return strings.Join(*f.done, "; "), err
}

func thingOf(kind, name string, proof map[string]string) inventory.Thing {
	return inventory.Thing{Kind: kind, Name: name, Proof: proof}
}

// The number of the device on which a file lies may be another after a restart of the machine: its time of birth tells that it is ours.
func TestFileAfterARestart(t *testing.T) {
	const image = "/srv/lab/image"
	born := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	made := host.Stat{DevMinor: 47, Inode: 7, Born: born}
	for name, c := range map[string]struct {
		now   host.Stat
		proof string
		ours  bool
	}{
		"no restart":              {made, identity.Of(made), true},
		"a restart":               {host.Stat{DevMinor: 52, Inode: 7, Born: born}, identity.Of(made), true},
		"its inode used again":    {host.Stat{DevMinor: 47, Inode: 7, Born: born.Add(time.Second)}, identity.Of(made), false},
		"of an earlier book":      {made, "0:47 7", true},
		"of one, and a restart":   {host.Stat{DevMinor: 52, Inode: 7, Born: born}, "0:47 7", false},
		"without a time of birth": {host.Stat{DevMinor: 52, Inode: 7}, identity.Of(host.Stat{DevMinor: 47, Inode: 7}), false},
	} {
		f := newFake(hosttest.Map{Stats: map[string]host.Stat{image: c.now}, Errors: map[string]error{"link " + image: errors.New("no link")}})
		done, err := takenAway(t, f, false, thingOf(inventory.File, image, map[string]string{"inode": c.proof}))
		if (done == "remove "+image) != c.ours || errors.Is(err, inventory.ErrForeign) == c.ours || c.ours && err != nil {
			t.Errorf("%s: did %q, %v", name, done, err)
		}
	}
}

func TestSysctlAndLimits(t *testing.T) {
	const blkio, io = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device", "/sys/fs/cgroup/g/io.max"
	one := map[string]string{"line": "7:0 1000", "undo": "7:0 0"}
	two := map[string]string{"line": "7:0 riops=3000 wiops=1000", "undo": "7:0 rbps=max wbps=max riops=max wiops=max"}
	ratio := map[string]string{"before": "20", "value": "40"}
	loop := inventory.Thing{Kind: inventory.Loop, Name: "/dev/loop0", Proof: map[string]string{"file": "/lab/image"}}
	onLoop := map[string]string{"/sys/block/loop0/loop/backing_file": "/lab/image\n", "/sys/block/loop0/dev": "7:0\n"}
	for name, c := range map[string]struct {
		thing   inventory.Thing
		text    string
		boot    string
		live    bool
		more    map[string]string
		done    string
		foreign bool
	}{
		"ours":              {thing: thingOf(inventory.Limit, blkio, one), text: "7:1 5\n7:0 1000\n", done: "write " + blkio + " 7:0 0"},
		"gone":              {thing: thingOf(inventory.Limit, blkio, one), text: "7:1 5\n"},
		"another's":         {thing: thingOf(inventory.Limit, blkio, one), text: "7:0 5\n", foreign: true},
		"changed by us":     {thing: thingOf(inventory.Limit, blkio, one), text: "7:0 5\n", live: true, done: "write " + blkio + " 7:0 0"},
		"on our device":     {thing: thingOf(inventory.Limit, blkio, one), text: "7:0 5\n", more: onLoop, done: "write " + blkio + " 7:0 0"},
		"of another life":   {thing: thingOf(inventory.Limit, blkio, one), text: "7:0 1000\n", boot: "later"},
		"version 2":         {thing: thingOf(inventory.Limit, io, two), text: "7:0 rbps=max wbps=max riops=3000 wiops=1000\n", done: "write " + io + " " + two["undo"]},
		"version 2, gone":   {thing: thingOf(inventory.Limit, io, two), text: ""},
		"version 2, theirs": {thing: thingOf(inventory.Limit, io, two), text: "7:0 rbps=max wbps=max riops=3000 wiops=5\n", foreign: true},
		"setting":           {thing: thingOf(inventory.Sysctl, "vm.dirty_ratio", ratio), text: "40\n", done: "write /proc/sys/vm/dirty_ratio 20"},
		"setting put back":  {thing: thingOf(inventory.Sysctl, "vm.dirty_ratio", ratio), text: "20\n"},
		"setting of others": {thing: thingOf(inventory.Sysctl, "vm.dirty_ratio", ratio), text: "30\n", foreign: true},
		"setting, rebooted": {thing: thingOf(inventory.Sysctl, "vm.dirty_ratio", ratio), text: "40\n", boot: "later"},
		"no such setting":   {thing: thingOf(inventory.Sysctl, "vm.no_such_thing", ratio)},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{bootFile: "now\n", c.thing.Name: c.text, "/proc/sys/vm/dirty_ratio": c.text}
			for k, v := range c.more {
				files[k] = v
			}
			if c.boot != "" {
				files[bootFile] = c.boot
			}
			done, err := takenAway(t, newFake(hosttest.Map{Files: files}), c.live, c.thing, loop)
			if done != c.done || errors.Is(err, inventory.ErrForeign) != c.foreign || err != nil && !c.foreign {
				t.Errorf("did %q, %v", done, err)
			}
		})
	}
}

// What the kernel does not answer about in time, as on a busy machine, is not gone: it stays in the book.
func TestUnreadIsNotGone(t *testing.T) {
	const kill = `sh -c kill -s "$1" -- "$2" sh `
	late := func(what string) func(hosttest.Map) {
		return func(m hosttest.Map) { m.Errors[what] = context.DeadlineExceeded }
	}
	stat := "77 (mariadbd) S 1 77 77" + strings.Repeat(" 0", 15) + " 900" + strings.Repeat(" 0", 30) + "\n"
	for name, c := range map[string]struct {
		thing inventory.Thing
		first func(hosttest.Map)
		does  map[string]func(hosttest.Map)
	}{
		"loop device":           {thing: thingOf(inventory.Loop, "/dev/loop0", map[string]string{"file": "/lab/image"}), first: late("file /sys/block/loop0/loop/backing_file")},
		"loop device, detached": {thing: thingOf(inventory.Loop, "/dev/loop0", map[string]string{"file": "/lab/image"}), does: map[string]func(hosttest.Map){"losetup -d /dev/loop0": late("file /sys/block/loop0/loop/backing_file")}},
		"process": {thing: thingOf(inventory.Process, "77", map[string]string{"start": "900", "boot": "now"}),
			does: map[string]func(hosttest.Map){kill + "TERM -77": late("file /proc/77/stat"), kill + "KILL -77": func(hosttest.Map) {}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(hosttest.Map{Errors: map[string]error{}, Files: map[string]string{bootFile: "now\n", "/proc/77/stat": stat, "/sys/block/loop0/loop/backing_file": "/lab/image\n"}})
			f.does = c.does
			if c.first != nil {
				c.first(f.Map)
			}
			if done, err := takenAway(t, f, false, c.thing); err == nil || errors.Is(err, inventory.ErrForeign) {
				t.Errorf("%s: did %q, and %v", name, done, err)
			}
		})
	}
}

// poolStatus is what zfs-fuse says, of a pool on one file more.
const poolStatus = "  pool: db1\n state: ONLINE\n scrub: none requested\nconfig:\n\n\tNAME               STATE     READ WRITE CKSUM\n\tdb1                ONLINE       0     0     0\n" +
	"\t  /srv/db/vdev1-0  ONLINE       0     0     0\n\tlogs\n\t  %s  ONLINE       0     0     0\n\nerrors: No known data errors\n"

func TestPool(t *testing.T) {
	tree := thingOf(inventory.Tree, "/srv/db", map[string]string{"inode": "0:0 7"})
	loop := thingOf(inventory.Loop, "/dev/loop0", map[string]string{"file": "/srv/db/image"})
	for name, c := range map[string]struct {
		log     string // device of the log
		marker  string
		foreign bool
	}{
		"on our files":        {log: "/srv/db/vdev1-1", marker: "run1"},
		"on our loop device":  {log: "loop0", marker: "run1"},
		"also on another's":   {log: "/srv/other/vdev", marker: "run1", foreign: true},
		"also on a disk":      {log: "sda", marker: "run1", foreign: true},
		"on a detour":         {log: "/srv/db/../other", marker: "run1", foreign: true},
		"in another's folder": {log: "/srv/db/vdev1-1", marker: "run2", foreign: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(hosttest.Map{
				Files:   map[string]string{bootFile: "now\n", "/srv/db/" + inventory.Marker: c.marker, "/sys/block/loop0/loop/backing_file": "/srv/db/image\n"},
				Stats:   map[string]host.Stat{"/srv/db": {Inode: 7, Mode: 1 << 31}},
				Outputs: map[string]string{"zpool list -H -o name": "other\ndb1\n", "zpool status db1": fmt.Sprintf(poolStatus, c.log)},
				Errors:  map[string]error{"link /srv/db": errors.New("no link")},
			})
			f.does = map[string]func(hosttest.Map){"zpool destroy -f db1": func(m hosttest.Map) { m.Outputs["zpool list -H -o name"] = "other\n" }}
			done, err := takenAway(t, f, false, inventory.Thing{Kind: inventory.Pool, Name: "db1"}, tree, loop)
			if (done == "zpool destroy -f db1") == c.foreign || errors.Is(err, inventory.ErrForeign) != c.foreign || err != nil && !c.foreign {
				t.Errorf("did %q, %v", done, err)
			}
		})
	}
	// Without ZFS there is no pool; one that cannot ask about is not known to be gone.
	none := newFake(hosttest.Map{Errors: map[string]error{"run zpool list -H -o name": host.ErrNoCommand}})
	if _, err := takenAway(t, none, false, inventory.Thing{Kind: inventory.Pool, Name: "db1"}); err != nil {
		t.Errorf("without zpool: %v", err)
	}
	down := newFake(hosttest.Map{Errors: map[string]error{"run zpool list -H -o name": errors.New("connect: refused")}, Files: map[string]string{"/srv/db/vdev": ""}})
	if _, err := takenAway(t, down, false, thingOf(inventory.Pool, "db1", map[string]string{"vdevs": "/srv/db/vdev"})); err == nil {
		t.Error("a pool that cannot be asked about is said to be gone")
	}
}

// A pool without a cache file ends with the zfs-fuse of the same book; only
// its mounts can be left.
func TestPoolEndsWithItsFuse(t *testing.T) {
	f := newFake(hosttest.Map{
		Errors: map[string]error{"run zpool list -H -o name": errors.New("connect: refused")},
		Files: map[string]string{"/dev/loop0": "", "/proc/self/mountinfo": "61 25 0:45 / /srv/db/v1 rw,relatime shared:1 - fuse.zfs db1/data rw\n" +
			"62 25 0:46 / /mine rw,relatime shared:1 - fuse.zfs db10 rw\n"},
	})
	f.does = map[string]func(hosttest.Map){"umount -l /srv/db/v1": func(hosttest.Map) {}}
	pool := thingOf(inventory.Pool, "db1", map[string]string{"vdevs": "/dev/loop0"})
	for _, ended := range []bool{false, true} {
		h := inventory.Holder{Do: f, Entries: []inventory.Entry{{N: 1, Thing: pool, Whole: true}, {N: 2, Thing: thingOf(inventory.Process, "9", map[string]string{"argv": "/usr/sbin/zfs-fuse -n"}), Whole: true, Gone: ended}}}
		err := All()[inventory.Pool].Remove(t.Context(), h, h.Entries[0])
		if done := strings.Join(*f.done, "; "); (done == "umount -l /srv/db/v1") != ended || (err == nil) != ended {
			t.Errorf("zfs-fuse ended %v: did %q, %v", ended, done, err)
		}
	}
}

func TestParseStat(t *testing.T) {
	const real = "1834 (a) b (c)) S 1 1834 1834 0 -1 4194560 1081 0 0 0 2 1 0 0 20 0 1 0 7712345 2777088 372 18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	if s, err := parseStat([]byte(real)); err != nil || s != (stat{"S", 1834, 1834, "7712345"}) {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := parseStat([]byte(real[:60])); err == nil {
		t.Error("a cut text was read")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("1 (init) S 0 1 1 0 -1 4194560 1081 0 0 0 2 1 0 0 20 0 1 0 77"))
	f.Add([]byte("7:0 rbps=max wbps=max riops=3000 wiops=1000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = parseStat(text)
		if line, ok := LimitOf(string(text), "7:0"); ok && !holds(line, "7:0") {
			t.Errorf("the line %q is not of its device", line)
		}
		for _, pid := range members(string(text)) {
			if pid == "1" || strings.HasPrefix(pid, "-") {
				t.Errorf("process %s is no member", pid)
			}
		}
	})
}

// Whatever a book names as a limit, only files in which the kernel takes limits
// of devices are written to.
func TestOnlyLimitsOfDevices(t *testing.T) {
	for _, name := range []string{"/sys/fs/cgroup/../../../etc/io.max", "/sys/fs/cgroup/cgroup.procs", "/etc/io.max", "/sys/fs/cgroup/blkio/blkio.throttle.x_device/../../cgroup.procs"} {
		if isLimit(inventory.Thing{Name: name, Proof: map[string]string{"line": "7:0 5", "undo": "7:0 0"}}) {
			t.Errorf("%s passes for a limit", name)
		}
	}
	for _, undo := range []string{"", "7:0", "+io", "7:0 0\n8:0 0", "root:x:0:0"} {
		if isLimit(inventory.Thing{Name: "/sys/fs/cgroup/x/io.max", Proof: map[string]string{"line": "7:0 riops=5", "undo": undo}}) {
			t.Errorf("%q passes for what takes a limit back", undo)
		}
	}
}
