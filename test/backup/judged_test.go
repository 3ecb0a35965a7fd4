package backup

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// TestLostPointIsJudged takes a point of a real server, and then somebody destroys its snapshot without telling Plumb.
func TestLostPointIsJudged(t *testing.T) {
	g := newGuardedOn(t, "btrfs", 500, "")
	points := stack.Ref{Kind: "points", Name: g.name}
	g.plumb(0, "snapshot", g.name)
	g.saysOf(points, map[string]rule.Outcome{"no-proven-point": rule.Quiet}) // there is a day to prove it
	vol := filepath.Join(g.box.Dir, "vol")
	destroyed := 0
	for line := range strings.Lines(sh(t, "btrfs", "subvolume", "list", vol)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), " path ")
		sh(t, "btrfs", "subvolume", "delete", filepath.Join(vol, name))
		destroyed++
	}
	if destroyed != 1 {
		t.Fatalf("%d snapshots were there", destroyed)
	}
	g.saysOf(points, map[string]rule.Outcome{"no-proven-point": rule.Fires})
}

// TestArchiveInTroubleIsJudged has a service follow the binary log of a real server, until somebody removes the place of the archive.
func TestArchiveInTroubleIsJudged(t *testing.T) {
	g := newGuardedOn(t, "ext4", 300, "log_bin=binlog\nserver_id=7\n")
	uid, _ := g.box.User()
	as, err := user.LookupId(strconv.Itoa(uid))
	must(t, err)
	place := filepath.Join(t.TempDir(), "place")
	must(t, os.Mkdir(place, 0o700))
	service := exec.Command(built.Path, "archive", "run", "--to", "file://"+place, "--recipients-file", g.key+"/recipients", "--state", g.lib+"/backups",
		"--binlog-index", g.server.Dir+"/binlog.index", "--binlog-user", as.Username, "--socket", filepath.Join(t.TempDir(), "s"), "--interval", "1s")
	must(t, service.Start())
	t.Cleanup(func() { _ = errors.Join(service.Process.Signal(syscall.SIGTERM), service.Wait()) })
	told := func(what string) { // of the service, in its own words
		t.Helper()
		file := archive.StatusFile(g.lib+"/backups", "main")
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			text, err := os.ReadFile(file)
			if strings.Contains(string(text), what) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the service never told %s: %v\n%s", what, err, text)
			}
		}
	}
	main := stack.Ref{Kind: "archives", Name: "main"}
	told(`"whole"`)
	g.saysOf(main, map[string]rule.Outcome{"archive-in-trouble": rule.Quiet})
	must(t, os.RemoveAll(place))
	must(t, g.server.Exec("INSERT INTO d.t VALUES (2)"))
	told(`"wrong"`)
	g.saysOf(main, map[string]rule.Outcome{"archive-in-trouble": rule.Fires})
}
