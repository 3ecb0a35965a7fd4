package boost_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// zfs runs zfs or zpool and gives what it prints.
func zfs(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// pool makes a pool with a dataset db, and db/a and db/own below it.
func pool(t *testing.T) (db string, fuse bool) {
	t.Helper()
	sandbox.NeedLong(t, "makes a pool: run without -short")
	box := sandbox.ForTest(t, "")
	newPool, fuse := box.AnyZFS()
	p, err := newPool(256)
	must(t, err)
	for _, d := range []string{"db", "db/a", "db/own"} {
		zfs(t, "zfs", "create", p.Name+"/"+d)
	}
	return p.Name + "/db", fuse
}

// zfs-fuse stopped before there was a property sync: it is refused with the reason. The test of OpenZFS runs in a
// virtual machine (TestBoostOnOpenZFS in test/real/vm runs this one there).
func TestDataset(t *testing.T) {
	db, fuse := pool(t)
	if fuse {
		_, errs := built.Run(t, 3, "boost", db, "1m", "--yes", "--", "true")
		program.Reads(t, errs, "the ZFS of this host has no property sync")
		return
	}
	zfs(t, "zfs", "set", "sync=standard", db+"/own")
	state := func() string { return zfs(t, "zfs", "get", "-H", "-r", "-o", "name,value,source", "sync", db) }
	everyWay(t, subject{of: db, state: state,
		other: func() { zfs(t, "zfs", "set", "sync=always", db) }, kept: db + "\talways\tlocal",
		reset: func() { zfs(t, "zfs", "inherit", "sync", db) }})
	zfs(t, "zfs", "set", "sync=always", db)
	killed(t, subject{of: db, state: state}, 2)
	out, _ := built.Run(t, 0, "boost", db, "1m", "--dry-run")
	program.Reads(t, out, "sync: disabled, now always", "It also applies to what is below: "+db+"/a\\.", `zfs_txg_timeout`, `zfs_dirty_data_max`)
	if _, err := os.Stat("/etc/systemd/system/multi-user.target.d"); err == nil {
		t.Error("a directory for a unit is left")
	}
}
