package points

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/protect"
	"plumb/internal/protect/drill"
	"plumb/internal/protect/rollback"
	"plumb/test/sandbox"
)

// stopAndStart gives the commands that stop and start the server of the bench, as a person
// would give them. The process started by them ends with the test.
func (b *bench) stopAndStart(t *testing.T) (stop, start []string) {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", b.server.PID))
	must(t, err)
	uid, gid := b.box.User()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	file := filepath.Join(filepath.Dir(b.server.Socket), "mysqld.pid")
	stopping := fmt.Sprintf("#!/bin/sh\n[ -e %[1]s ] || exit 0\np=$(cat %[1]s)\nkill $p 2>/dev/null || exit 0\n"+untilEnded, file)
	starting := fmt.Sprintf("#!/bin/sh\nsetsid setpriv --reuid=%d --regid=%d --clear-groups -- '%s' >/dev/null 2>&1 </dev/null &\n",
		uid, gid, strings.Join(strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), "' '"))
	stop, start = []string{filepath.Join(dir, "stop")}, []string{filepath.Join(dir, "start")}
	must(t, os.WriteFile(stop[0], []byte(stopping), 0o755))
	must(t, os.WriteFile(start[0], []byte(starting), 0o755))
	script := stop[0]
	t.Cleanup(func() { must(t, exec.Command("sh", script).Run()) })
	stop, start = append([]string{"sh"}, stop...), append([]string{"sh"}, start...) // the directory is not root's alone
	return stop, start
}

// untilEnded waits for the process $p: one that nobody reaped has ended.
const untilEnded = "while s=$(grep -s '^State:' /proc/$p/status); do case $s in *[ZX]*) exit 0 ;; esac; sleep 0.05; done\n"

// ask gives one cell, or the error's text.
func (b *bench) ask(t *testing.T, query string) (text string) {
	t.Helper()
	return cell(t, b.server, query)
}

// cell gives one of any server, or the error's text.
func cell(t *testing.T, of *sandbox.Server, query string) (text string) {
	t.Helper()
	db, err := of.Open()
	must(t, err)
	defer db.Close()
	if err := db.QueryRow(query).Scan(&text); err != nil {
		return err.Error()
	}
	return text
}

// again finds the process of the server anew.
func (b *bench) again(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(b.server.Socket), "mysqld.pid"))
	must(t, err)
	b.server.PID, err = strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
}

func (b *bench) properties(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "zfs get -Hp -r -o name,property,value,source all "+b.pool.Name+`/db | grep -v @ | grep -v undone- | grep -v before- | grep -v org.plumb: | grep -P '\t(local|received|default|inherited.*)$'`).CombinedOutput()
	must(t, err)
	return string(out)
}

func (b *bench) rollback(t *testing.T) rollback.Rollback {
	return rollback.Rollback{Keeper: b.Keeper, Executor: &change.Executor{Doer: b.Do, Dir: filepath.Join(t.TempDir(), "plumb"), Plumb: "test", Now: time.Now}}
}

// TestRollbackOfMariaDB brings a dropped table back, and then what was later.
func TestRollbackOfMariaDB(t *testing.T) {
	b := onPool(t, families[0])
	must(t, exec.Command("zfs", "set", "my:note=a b", b.pool.Name+"/db/data").Run())
	must(t, b.server.Exec("CREATE DATABASE rolled", "CREATE TABLE rolled.t (id INT PRIMARY KEY)", "INSERT INTO rolled.t VALUES (1), (2)"))
	p, err := b.Take(t.Context(), b.plan(t), protect.TakeOptions{})
	must(t, err)
	stop, start := b.stopAndStart(t)
	r := b.rollback(t)
	o := rollback.Options{Stop: stop, Start: start, Within: time.Minute}
	if _, err := r.Plan(t.Context(), b.Do, b.look(t), p, o); err == nil || !strings.Contains(err.Error(), "no drill") {
		t.Errorf("an unproven point: %v", err)
	}
	if d, err := (drill.Drill{Maker: b.maker}).Run(t.Context(), p); err != nil || !d.OK {
		t.Fatalf("%+v, %v", d, err)
	}
	p, err = b.Store.Get(t.Context(), b.Do, p.ID)
	must(t, err)
	must(t, b.server.Exec("DROP TABLE rolled.t", "CREATE TABLE rolled.later (id INT PRIMARY KEY)", "INSERT INTO rolled.later VALUES (3)"))
	later, err := b.Take(t.Context(), b.plan(t), protect.TakeOptions{})
	must(t, err)
	was := b.properties(t)

	b.refused(t, r, p, o)
	plan, err := r.Plan(t.Context(), b.Do, b.look(t), p, o)
	must(t, err)
	res, err := r.Run(t.Context(), plan, change.Begin{})
	must(t, err)
	t.Logf("%+v", res)
	if got := b.ask(t, "SELECT GROUP_CONCAT(id) FROM rolled.t"); got != "1,2" {
		t.Errorf("after the rollback the table holds %q", got)
	}
	if now := b.properties(t); now != was {
		t.Errorf("the properties were\n%s\nand are\n%s", was, now)
	}
	b.again(t)
	if plan := b.plan(t); len(plan.Set.Volumes) != 2 || plan.Set.Volumes[0].Name != b.pool.Name+"/db/data" {
		t.Errorf("it runs on %+v", plan.Set.Volumes)
	}
	moved, err := b.Store.Get(t.Context(), b.Do, later.ID)
	must(t, err)
	if !strings.Contains(moved.Members[0].Snapshot, ".before-") {
		t.Errorf("the later point is said to be %s", moved.Members[0].Snapshot)
	}
	must(t, b.server.Exec("INSERT INTO rolled.t VALUES (4)"))

	must(t, r.Executor.Undo(t.Context(), []int{res.Change}, change.UndoOptions{}))
	must(t, r.Follow(t.Context()))
	if got := b.ask(t, "SELECT GROUP_CONCAT(id) FROM rolled.later"); got != "3" {
		t.Errorf("after the undo the later table holds %q", got)
	}
	if now := b.properties(t); now != was {
		t.Errorf("after the undo the properties were\n%s\nand are\n%s", was, now)
	}
	if back, err := b.Store.Get(t.Context(), b.Do, later.ID); err != nil || back.Members[0].Snapshot != later.Members[0].Snapshot {
		t.Errorf("the later point is said to be %+v, %v", back.Members[0], err)
	}
	out, err := exec.Command("zfs", "list", "-H", "-r", "-t", "all", "-o", "name,origin", b.pool.Name).Output()
	must(t, err)
	if strings.Count(string(out), ".undone-") != 2 || strings.Contains(string(out), "before-") {
		t.Errorf("the undo left\n%s", out)
	}
}

// refused tries what must be refused before anything is stopped.
func (b *bench) refused(t *testing.T, r rollback.Rollback, p protect.Point, o rollback.Options) {
	if _, err := r.Plan(t.Context(), b.Do, b.look(t), p, rollback.Options{}); err == nil || !strings.Contains(err.Error(), "no systemd unit") {
		t.Errorf("a server that nobody starts: %v", err)
	}
	reader := exec.Command("sleep", "1000")
	reader.Dir = filepath.Join(b.pool.Dir, "db/log")
	must(t, reader.Start())
	if _, err := r.Plan(t.Context(), b.Do, b.look(t), p, o); err == nil || !strings.Contains(err.Error(), "has "+reader.Dir+" open") {
		t.Errorf("another's files: %v", err)
	}
	must(t, reader.Process.Kill())
	_ = reader.Wait()
}
