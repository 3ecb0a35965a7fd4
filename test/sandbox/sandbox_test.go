package sandbox

import (
	"errors"
	"testing"
)

// box gives a box that is closed at the end of the test.
func box(t *testing.T) *Box {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers: run without -short")
	}
	b, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// check skips for what the machine does not offer and fails for the rest.
func check(t *testing.T, err error) {
	t.Helper()
	var missing Missing
	if errors.As(err, &missing) {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestServersOnFilesystems(t *testing.T) {
	for _, fstype := range []string{"ext4", "xfs", "btrfs"} {
		t.Run(fstype, func(t *testing.T) {
			b := box(t)
			dir, err := b.Filesystem("vol", fstype, 400, nil, "")
			check(t, err)
			my, err := b.MySQL(MySQLOptions{Datadir: dir + "/my", Settings: "innodb_log_file_size=16M"})
			check(t, err)
			check(t, my.Exec("CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY)"))
			pg, err := b.Postgres(PostgresOptions{Datadir: dir + "/pg"})
			check(t, err)
			check(t, pg.Exec("CREATE TABLE t (id INT PRIMARY KEY)"))
		})
	}
}

func TestServerInControlGroupOnZFS(t *testing.T) {
	b := box(t)
	pool, err := b.ZFSFuse(300)
	check(t, err)
	dir, err := pool.Dataset("pg", "recordsize=16K")
	check(t, err)
	wrap, err := b.Cgroup(512 << 20)
	check(t, err)
	pg, err := b.Postgres(PostgresOptions{Datadir: dir + "/data", Wrap: wrap})
	check(t, err)
	check(t, pg.Exec("SELECT 1"))
}

func TestOtherVersions(t *testing.T) {
	for _, major := range []string{"10", "14", "18"} {
		t.Run("postgres_"+major, func(t *testing.T) {
			b := box(t)
			bin, err := PostgresTree(major)
			check(t, err)
			pg, err := b.Postgres(PostgresOptions{Bindir: bin})
			check(t, err)
			check(t, pg.Exec("SELECT 1"))
		})
	}
	t.Run("mariadb_11.4", func(t *testing.T) {
		b := box(t)
		base, err := MariaDBTree()
		check(t, err)
		my, err := b.MySQL(MySQLOptions{Basedir: base})
		check(t, err)
		check(t, my.Exec("SELECT 1"))
	})
	t.Run("mysql_9.7", func(t *testing.T) {
		b := box(t)
		base, loader, err := MySQLTree()
		check(t, err)
		my, err := b.MySQL(MySQLOptions{Basedir: base, Loader: loader, Native: true})
		check(t, err)
		check(t, my.Exec("SELECT 1"))
	})
}
