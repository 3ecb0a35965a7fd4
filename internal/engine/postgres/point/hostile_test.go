package point_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plumb/internal/engine/postgres/point"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// TestNeutraliseFollowsNoLinks: links that lead out of a copy are refused or taken away, and
// what they lead to stays as it is.
func TestNeutraliseFollowsNoLinks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("steps down to another user: run as root")
	}
	box := sandbox.ForTest(t, "")
	uid, gid := box.User()
	doer := hosttest.LiveDoer(t)
	for name, c := range map[string]struct {
		prepare string // in the data directory; $live is the source's
		want    string // in the error; "" for none
	}{
		"as it should be":       {"", ""},
		"slots elsewhere":       {"rm -r pg_replslot; ln -s $live/pg_replslot pg_replslot", "pg_replslot"},
		"a slot elsewhere":      {"ln -s $live/pg_replslot/s pg_replslot/t", ""},
		"WAL elsewhere":         {"rm -r pg_wal; ln -s $live/pg_wal pg_wal", "pg_wal leads to"},
		"a new tablespace":      {"ln -s $live/base pg_tblspc/7", "pg_tblspc/7 leads to"},
		"a table elsewhere":     {"ln -s $live/base/1 base/1", "base/1 leads to"},
		"tablespaces elsewhere": {"rm -r pg_tblspc; ln -s $live/pg_tblspc pg_tblspc", "pg_tblspc"},
		"settings elsewhere":    {"ln -s $live/postgresql.auto.conf postgresql.auto.conf", ""},
		"label elsewhere":       {"ln -s $live/label backup_label", ""},
		"another version":       {"echo 9.6 > PG_VERSION", "9.6"},
		"empty":                 {"rm -r *", "no data of PostgreSQL"},
		"the whole elsewhere":   {"cd ..; mv data gone; ln -s $live data", "leads to"},
		"a space elsewhere":     {"rm -r ../space; ln -s $live/base ../space", "leads out of the copy"},
		"a space gone":          {"rm -r ../space", "is missing in the copy"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := box.Mkdir(strings.ReplaceAll(name, " ", "-"))
			sandbox.Need(t, err)
			const make = `set -e
mkdir -p live/base live/pg_replslot/s live/pg_wal live/pg_tblspc root/srv/space root/srv/data run; chmod 700 run
echo live > live/base/1; echo slot > live/pg_replslot/s/state; echo auto > live/postgresql.auto.conf; echo label > live/label
cd root/srv/data; mkdir base pg_replslot pg_replslot/s pg_wal pg_tblspc; echo 15 > PG_VERSION; echo x > pg_replslot/s/state; echo 1 > postmaster.pid
ln -s /srv/space pg_tblspc/5; `
			cmd := exec.Command("setpriv", "--reuid="+strconv.Itoa(uid), "--regid="+strconv.Itoa(gid), "--clear-groups", "sh", "-c", make+c.prepare)
			cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "live=" + dir + "/live"}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			before := sum(t, dir+"/live")
			sv := protect.Server{Ref: stack.Ref{Kind: "postgres", Name: "5432"}, Version: "15.4", Program: []string{"/bin/false"}, UID: uid, GID: gid,
				Dirs: []protect.Dir{{Role: "data", Path: "/srv/data"}, {Role: "tablespace", Path: "/srv/space", Link: "pg_tblspc/5"}}}
			cp := protect.Copy{Server: sv, Purpose: protect.ForDrill, Root: dir + "/root", Run: dir + "/run", Files: map[string]string{"data/backup_label": "START"}}
			err = point.New(nil).Neutralise(t.Context(), doer, cp)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if after := sum(t, dir+"/live"); after != before {
				t.Errorf("the source was\n%s\nand is\n%s", before, after)
			}
			if err != nil {
				return
			}
			harmless(t, doer, cp, dir)
		})
	}
}

// harmless looks at what was made of a copy, and whether it stays so.
func harmless(t *testing.T, doer host.Streamer, cp protect.Copy, dir string) {
	t.Helper()
	slots, _ := filepath.Glob(dir + "/root/srv/data/pg_replslot/*")
	label, err := os.ReadFile(dir + "/root/srv/data/backup_label")
	if err != nil || string(label) != "START" || len(slots) > 0 {
		t.Errorf("label %q, slots %v, %v", label, slots, err)
	}
	if to, err := os.Readlink(dir + "/root/srv/data/pg_tblspc/5"); err != nil || to != dir+"/root/srv/space" {
		t.Error(to, err)
	}
	// what a first start needs does not come a second time
	if err := os.Remove(dir + "/root/srv/data/backup_label"); err != nil {
		t.Fatal(err)
	}
	if err := point.New(nil).Neutralise(t.Context(), doer, cp); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/root/srv/data/backup_label"); err == nil {
		t.Error("the label is back")
	}
}

// sum gives all names and contents below a directory.
func sum(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `cd "$1" && find . -exec ls -ldn --time-style=full-iso {} + && find . -type f -exec cat {} +`, "sh", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
