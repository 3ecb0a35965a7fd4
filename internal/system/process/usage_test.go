package process

import (
	"reflect"
	"testing"
)

// A mysqld of Linux 6.18, with a name that nobody should give a process.
const usageLine = "13131 (my) (sq\nl\xff) S 1 13131 13131 0 -1 4194560 5000 12 3 0 31 52 4 5 20 0 15 0 123456 1200000000 27303 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

func TestParseUsage(t *testing.T) {
	got, ok := ParseUsage([]byte(usageLine))
	want := Usage{PID: 13131, Comm: "my) (sq\nl\xff", User: 350, System: 570, Start: 123456, Threads: 15, Pages: 27303}
	if !ok || got != want {
		t.Errorf("got %+v %v, want %+v", got, ok, want)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1 1", "x (y) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"} {
		if got, ok := ParseUsage([]byte(bad)); ok {
			t.Errorf("%q gave %+v", bad, got)
		}
	}
}

func TestParseIO(t *testing.T) {
	text := "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n"
	if r, w, ok := ParseIO([]byte(text)); !ok || r != 4096 || w != 8192 {
		t.Errorf("got %d %d %v", r, w, ok)
	}
	if _, _, ok := ParseIO([]byte("read_bytes: 1\n")); ok {
		t.Error("half an answer was taken")
	}
}

// TestGroupsOf finds the directories in version 1, in version 2, and on a host
// with both; the text of the first is this machine's.
func TestGroupsOf(t *testing.T) {
	v1 := ParseTrees([]byte("30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n31 25 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n" +
		"32 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n33 25 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n34 25 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"))
	g, err := v1.GroupsOf([]byte("7:blkio:/a/b\n4:memory:/db\n2:cpuacct:/\n1:cpu:/\n0::/\n"))
	want := Groups{CPU: []string{"/sys/fs/cgroup/cpu"}, Account: []string{"/sys/fs/cgroup/cpuacct"}, Memory: []string{"/sys/fs/cgroup/memory/db", "/sys/fs/cgroup/memory"},
		IO: []string{"/sys/fs/cgroup/blkio/a/b", "/sys/fs/cgroup/blkio/a", "/sys/fs/cgroup/blkio"}, Unified: []string{"/sys/fs/cgroup/unified"},
		MemoryV1: true, IOV1: true, Paths: []string{"/a/b", "/a", "/"}}
	if err != nil || !reflect.DeepEqual(g, want) {
		t.Errorf("version 1: %+v, %v", g, err)
	}
	v2 := ParseTrees([]byte("30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"))
	g, err = v2.GroupsOf([]byte("0::/system.slice/db.service\n"))
	dirs := []string{"/sys/fs/cgroup/system.slice/db.service", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup"}
	want = Groups{CPU: dirs, Memory: dirs, IO: dirs, Unified: dirs, Paths: []string{"/system.slice/db.service", "/system.slice", "/"}}
	if err != nil || !reflect.DeepEqual(g, want) {
		t.Errorf("version 2: %+v, %v", g, err)
	}
	if _, err := v2.GroupsOf([]byte("0::/../other\n")); err == nil {
		t.Error("a group outside what is seen was found")
	}
}

func FuzzUsage(f *testing.F) {
	f.Add([]byte(usageLine), []byte("0::/system.slice/a\n"), []byte("30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"))
	f.Add([]byte("read_bytes: 1\nwrite_bytes: 2\n"), []byte("7:blkio:/a\n4:memory:/b\n"), []byte("33 25 0:29 /x /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"))
	f.Fuzz(func(t *testing.T, data, member, mounts []byte) {
		if u, ok := ParseUsage(data); ok && (u.PID <= 0 || u.User < 0 || u.System < 0 || u.Start < 0) {
			t.Errorf("%+v", u)
		}
		if r, w, ok := ParseIO(data); ok && (r < 0 || w < 0) {
			t.Errorf("%d %d", r, w)
		}
		if g, err := ParseTrees(mounts).GroupsOf(member); err == nil && len(g.Paths) != len(g.IO) {
			t.Errorf("%d paths of %d directories", len(g.Paths), len(g.IO))
		}
	})
}
