package real

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

func zfsWrecks() []wreck {
	return []wreck{
		{name: "careless_pool", quick: true, start: carelessPool, fires: []string{
			"zfs/slog-in-memory", "zfs/checksum-off", "cross/zfs-quota-near", "cross/zfs-no-fsync", "cross/zfs-doublewrite-off", "cross/zfs-fuse-compression-off-mysql"}},
		{name: "mirror_with_a_side_missing", start: halfMirror, fires: []string{"zfs/pool-degraded", "cross/zfs-full-page-writes-off", "cross/zfs-fuse-compression-off-postgres"}},
		{name: "pool_with_damaged_data", start: damagedPool, fires: []string{"zfs/data-errors"}},
		{name: "pool_nearly_full", start: fullPool, fires: []string{"zfs/capacity-90"}},
	}
}

// carelessPool has a log device in memory, and a server whose dataset can
// neither tell torn pages nor grow.
func carelessPool(t *testing.T, b *sandbox.Box) {
	log := "/dev/shm/plumb-test-log"
	check(t, os.WriteFile(log, nil, 0o600))
	check(t, os.Truncate(log, 128<<20))
	t.Cleanup(func() { os.Remove(log) })
	pool, err := b.ZFSFuse(600, "log", log)
	check(t, err)
	dir, err := pool.Dataset("data", "recordsize=16K", "checksum=off", "quota=200M")
	check(t, err)
	mysqlOn(t, b, dir+"/data", "innodb_flush_method=O_DIRECT_NO_FSYNC\ninnodb_doublewrite=0\n")
	// All but some megabytes of the quota.
	ballast(t, dir+"/ballast", 60)
	for n := 0; ; n++ {
		left, err := strconv.Atoi(run(t, "zfs", "get", "-Hpo", "value", "available", pool.Name+"/data"))
		check(t, err)
		if left < 9<<20 {
			break
		}
		ballast(t, fmt.Sprintf("%s/ballast%d", dir, n), 4)
	}
}

// halfMirror has one side of its mirror taken offline.
func halfMirror(t *testing.T, b *sandbox.Box) {
	pool, err := b.ZFSFuseOf(600, "mirror", "FILE", "FILE")
	check(t, err)
	dir, err := pool.Dataset("data", "recordsize=4K")
	check(t, err)
	postgresOn(t, b, dir+"/data", "full_page_writes = off\nfsync = off\n")
	run(t, "zpool", "offline", pool.Name, pool.Files[1])
}

// damagedPool has no redundancy, and a file some of whose blocks were written
// over below it. Only the file's: of what ZFS needs to open the pool it keeps
// two or three copies, and chance could hit them all.
func damagedPool(t *testing.T, b *sandbox.Box) {
	pool, err := b.ZFSFuse(300)
	check(t, err)
	known := patterned(t, pool.Dir+"/ballast", 50)
	run(t, "zpool", "export", pool.Name)
	damageBelow(t, pool.Files[0], known)
	run(t, "zpool", "import", "-d", b.Dir, pool.Name)
	_, _ = os.ReadFile(pool.Dir + "/ballast") // fails, as it should
	run(t, "zpool", "scrub", pool.Name)
	wait(t, "the end of the scrub", func() bool {
		return !strings.Contains(run(t, "zpool", "status", pool.Name), "in progress")
	})
}

// fullPool has little left.
func fullPool(t *testing.T, b *sandbox.Box) {
	pool, err := b.ZFSFuse(700) // of a smaller one ZFS keeps more than a tenth for itself
	check(t, err)
	ballast(t, pool.Dir+"/ballast", 600)
	for n := 0; run(t, "zpool", "list", "-Ho", "capacity", pool.Name) < "92%"; n++ {
		ballast(t, fmt.Sprintf("%s/ballast%d", pool.Dir, n), 2)
		run(t, "sync")
	}
}
