package sandbox

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// box gives a box that is closed at the end of the test.
func box(t *testing.T) *Box {
	t.Helper()
	NeedLong(t, "starts real servers: run without -short")
	return ForTest(t, "")
}

func TestServersOnFilesystems(t *testing.T) {
	for _, fstype := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(fstype, func(t *testing.T) {
			b := box(t)
			dir, err := b.Filesystem("vol", fstype, 400, nil, "")
			Need(t, err)
			my, err := b.MySQL(MySQLOptions{Datadir: dir + "/my", Settings: "innodb_log_file_size=16M"})
			Need(t, err)
			Need(t, my.Exec("CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY)"))
			pg, err := b.Postgres(PostgresOptions{Datadir: dir + "/pg"})
			Need(t, err)
			Need(t, pg.Exec("CREATE TABLE t (id INT PRIMARY KEY)"))
		})
	}
}

func TestServerInControlGroupOnZFS(t *testing.T) {
	b := box(t)
	pool, err := b.ZFSFuse(300)
	Need(t, err)
	dir, err := pool.Dataset("pg", "recordsize=16K")
	Need(t, err)
	wrap, err := b.Cgroup(512 << 20)
	Need(t, err)
	pg, err := b.Postgres(PostgresOptions{Datadir: dir + "/data", Wrap: wrap})
	Need(t, err)
	Need(t, pg.Exec("SELECT 1"))
}

func TestOtherVersions(t *testing.T) {
	for _, major := range []string{"10", "14", "18"} {
		t.Run("postgres_"+major, func(t *testing.T) {
			b := box(t)
			bin, err := PostgresTree(major)
			Need(t, err)
			pg, err := b.Postgres(PostgresOptions{Bindir: bin})
			Need(t, err)
			Need(t, pg.Exec("SELECT 1"))
		})
	}
	t.Run("mariadb_11.4", func(t *testing.T) {
		b := box(t)
		base, err := MariaDBTree()
		Need(t, err)
		my, err := b.MySQL(MySQLOptions{Basedir: base})
		Need(t, err)
		Need(t, my.Exec("SELECT 1"))
	})
	t.Run("mysql_9.7", func(t *testing.T) {
		b := box(t)
		base, loader, err := MySQLTree()
		Need(t, err)
		my, err := b.MySQL(MySQLOptions{Basedir: base, Loader: loader, Native: true})
		Need(t, err)
		Need(t, my.Exec("SELECT 1"))
	})
}

// TestDiskThatSomebodyLooksAt: who looks at all mounts of the machine has each of them busy for a moment, and the box waits until it has done so.
func TestDiskThatSomebodyLooksAt(t *testing.T) {
	b := box(t)
	_, err := b.SlowDisk("disk", 16)
	Need(t, err)
	at, err := unix.Open(filepath.Join(b.Dir, "disk.fuse"), unix.O_PATH|unix.O_CLOEXEC, 0)
	Need(t, err)
	time.AfterFunc(300*time.Millisecond, func() { unix.Close(at) })
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
