package fill_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"plumb/internal/load/fill"
	"plumb/test/sandbox"
)

// inTime demands that a load ends soon.
func inTime(t *testing.T, a address, p fill.Plan) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := fill.Fill(t.Context(), a.server(), p, fill.Options{Workers: 3, Range: 1 << 20})
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(60 * time.Second):
		t.Fatal("the load hangs")
	}
	return nil
}

// onSmallDisk starts a server whose disk is soon full.
func onSmallDisk(t *testing.T, engine string) (address, *sandbox.Server) {
	t.Helper()
	b := sandbox.ForTest(t, "")
	dir, err := b.Filesystem("small", "ext4", 220, nil, "")
	sandbox.Need(t, err)
	if engine == "mysql" {
		s, err := b.MySQL(sandbox.MySQLOptions{Settings: "local_infile = 1\ninnodb_log_file_size = 16M", Datadir: filepath.Join(dir, "data")})
		sandbox.Need(t, err)
		ok(t, s.Exec("CREATE DATABASE filled"))
		return address{"mysql", s.Socket, "root", "filled"}, s
	}
	s, err := b.Postgres(sandbox.PostgresOptions{Datadir: filepath.Join(dir, "data"), Settings: "max_wal_size = 64MB"})
	sandbox.Need(t, err)
	return address{"postgres", filepath.Join(s.Socket, ".s.PGSQL."+strconv.Itoa(s.Port)), "postgres", "postgres"}, s
}

func TestFillTrouble(t *testing.T) {
	if testing.Short() || os.Getenv("PLUMB_REAL") == "" {
		t.Skip("fills disks: make test-real runs it")
	}
	for _, engine := range []string{"mysql", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Run("DiskFull", func(t *testing.T) {
				a, _ := onSmallDisk(t, engine)
				err := inTime(t, a, somePlan(2000))
				t.Log(err)
				wantError(t, err, "prepare again continues from there")
			})
			t.Run("ServerLost", func(t *testing.T) {
				a, s := onSmallDisk(t, engine)
				killer := time.AfterFunc(500*time.Millisecond, func() { _ = syscall.Kill(s.PID, syscall.SIGKILL) })
				defer killer.Stop()
				err := inTime(t, a, somePlan(200))
				t.Log(err)
				wantError(t, err, "prepare again continues from there")
			})
		})
	}
}
