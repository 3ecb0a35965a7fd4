package points

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// zfs types a command of somebody else.
func zfsTyped(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("zfs", args...).CombinedOutput(); err != nil {
		t.Fatalf("zfs %v: %v: %s", args, err, out)
	}
}

// TestForeignSnapshots: what others took is shown as theirs, can be cloned from and tried, and
// is never destroyed.
func TestForeignSnapshots(t *testing.T) {
	b := onPool(t, families[0])
	dir := sandbox.Directory(t, "verbs")
	v := verbs{t, filepath.Join(dir, "state")}
	server := b.db(t, b.look(t)).String()
	db := b.pool.Name + "/db"
	const hourly = "autosnap_2026-11-23_21:00:00_hourly"
	must(t, b.server.Exec("INSERT INTO plumbtest.t (who, n) VALUES (1, 1), (1, 2)"))
	zfsTyped(t, "snapshot", "-r", db+"@"+hourly)
	must(t, b.server.Exec("INSERT INTO plumbtest.t (who, n) VALUES (1, 3)"))
	zfsTyped(t, "snapshot", db+"/data@apart")
	zfsTyped(t, "snapshot", db+"/log@apart")
	zfsTyped(t, "snapshot", db+"/data@half")
	id := pointID.FindString(v.typed(0, "snapshot", server))

	if out := v.typed(0, "protect", "list"); strings.Contains(out, hourly) {
		t.Error("the list shows others' snapshots unasked")
	}
	out := v.typed(0, "protect", "list", "--foreign")
	says(t, out, id, "Taken by others: of unknown consistency, and never pruned by Plumb", db+"/data@"+hourly, "by sanoid", db+"/log@apart", db+"/data@half", "by somebody")
	if strings.Count(out, "@plumb-") > 0 || strings.Contains(out, db+"@") {
		t.Error("it shows Plumb's own, or those of what the server has nothing on")
	}
	says(t, v.typed(0, "protect", "status"), db+"/data has 1 snapshot of sanoid, of unknown consistency", db+"/data has 2 snapshots of somebody", "1 point")

	says(t, v.typed(3, "clone", db+"/data@apart"), "not of one moment")
	says(t, v.typed(3, "clone", db+"/data@half"), "also keeps data on "+db+"/log")
	says(t, v.typed(3, "clone", db+"/data@none"), "no snapshot named none")
	says(t, v.typed(3, "clone", db+"@"+hourly), "no server that runs here keeps data on "+db)
	v.typed(2, "clone", db+"/data@"+hourly, "--replica", "--source", "mysql://r@db1/")
	v.typed(2, "drill", db+"/data@"+hourly, "--ready")

	says(t, v.typed(0, "drill", db+"/log@"+hourly), "Snapshot "+db+"/log@"+hourly, "it started, and all checks passed", "others took it: how is not known")
	says(t, v.typed(0, "clone", db+"/data@"+hourly, "--name", "theirs"), "which others took", "proof none")
	says(t, v.typed(0, "clone", "list"), "snapshot "+db+"/data@"+hourly+", which others took")
	theirs := &sandbox.Server{Engine: "mysql", Socket: filepath.Join(dir, "state-copies/theirs/run/mysqld.sock"), User: "root"}
	if n := cell(t, theirs, "SELECT COUNT(*) FROM plumbtest.t"); n != "2" {
		t.Errorf("the clone has %s rows, and 2 were there", n)
	}
	says(t, v.typed(0, "clone", "refresh", "theirs", id, "--yes"), "point "+id)
	says(t, v.typed(0, "clone", "refresh", "theirs", db+"/data@"+hourly, "--yes"), "which others took")
	v.typed(0, "clone", "drop", "theirs", "--yes")
	v.browsed(b, id)
	v.browsed(b, db+"/data@"+hourly)
	v.typed(0, "prune", "--keep", "last=1", "--yes")
	if out, _ := exec.Command("zfs", "list", "-H", "-r", "-t", "all", "-o", "name", db).Output(); strings.Count(string(out), hourly) != 3 || strings.Contains(string(out), "clone-") {
		t.Errorf("left are\n%s", out)
	}

	// Another snapshot of the same name, between the look and the clone.
	s := b.look(t)
	p, err := b.ForeignPoint(t.Context(), b.Do, s, []stack.Ref{b.db(t, s)}, db+"/data@"+hourly)
	must(t, err)
	zfsTyped(t, "destroy", db+"/data@"+hourly)
	zfsTyped(t, "snapshot", db+"/data@"+hourly)
	if _, err := b.maker.Make(t.Context(), p, instance.Options{Name: "swapped", Purpose: protect.ForUse, Memory: 256 << 20, Number: 9}); err == nil || !strings.Contains(err.Error(), "not the snapshot that was taken") {
		t.Errorf("a swapped snapshot was cloned: %v", err)
	}
}

// browsed mounts the files of a point for people: all of them, and none can be written.
func (v verbs) browsed(b *bench, id string) {
	v.t.Helper()
	v.typed(2, "clone", id, "--browse", "--port", "3307")
	says(v.t, v.typed(0, "clone", id, "--browse", "--name", "look"), "with no server", "read-only")
	root := filepath.Join(v.state+"-copies", "look/root")
	for _, file := range []string{"db/data/plumbtest/t.ibd", "db/data/ibdata1", "db/log/binlog.index"} {
		at := filepath.Join(root, b.pool.Dir, file)
		if text, err := os.ReadFile(at); err != nil || len(text) == 0 {
			v.t.Errorf("%s: %d bytes, %v", file, len(text), err)
		}
		if err := os.WriteFile(at, nil, 0o600); !errors.Is(err, syscall.EROFS) {
			v.t.Errorf("%s can be written: %v", file, err)
		}
	}
	if out, err := exec.Command("pgrep", "-f", "--", root).Output(); err == nil {
		v.t.Errorf("something runs there: %s", out)
	}
	says(v.t, v.typed(0, "clone", "list"), "files below "+filepath.Dir(root))
	says(v.t, v.typed(3, "clone", id, "--browse", "--name", "look"), "there is a clone look already")
	v.typed(0, "clone", "refresh", "look", id, "--yes")
	v.typed(0, "clone", "drop", "look", "--yes")
	if _, err := os.Stat(filepath.Dir(root)); !errors.Is(err, os.ErrNotExist) {
		v.t.Errorf("it is left: %v", err)
	}
}
