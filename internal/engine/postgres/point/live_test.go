package point_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

func TestCrashPointUnderLoad(t *testing.T) {
	versions(t, func(t *testing.T, bin string) {
		s := newSource(t, bin, "")
		mode := s.mode(protect.ModeCrash, s.set(false))
		if mode.Not != "" || len(mode.Doubts) > 0 {
			t.Fatalf("%+v", mode)
		}
		end := s.write()
		defer end()
		before := len(s.typed())
		at, err := s.e.Position(t.Context(), s.doer, s.target)
		if err != nil {
			t.Fatal(err)
		}
		told := s.told()
		c := s.copyOf(protect.ForDrill, at)
		s.instant(c)
		end()
		for _, statement := range s.typed()[before:] {
			if !strings.HasPrefix(statement, "SELECT CASE") && !strings.HasPrefix(statement, "BEGIN; INSERT INTO ledger") && !strings.HasPrefix(statement, "SET ") {
				t.Errorf("typed: %s", statement)
			}
		}
		a, _ := s.start(c)
		is, err := s.e.Recovered(t.Context(), a, c)
		if err != nil {
			t.Fatal(err)
		}
		if why := s.e.Same(at, is); why != "" {
			t.Error(why)
		}
		t.Log(s.sv.Product, "position", at, "recovered", is, "told", told)
		s.whole(c, a, told)
		s.untouched(c)
	})
}

func TestBackupAPIUnderLoad(t *testing.T) {
	versions(t, func(t *testing.T, bin string) {
		s := newSource(t, bin, "full_page_writes = off\nmax_wal_size = 32MB\n")
		set := s.set(true)
		if crash := s.mode(protect.ModeCrash, set); crash.Not != set.Apart {
			t.Errorf("%+v", crash)
		}
		mode := s.mode(protect.ModeBackupAPI, set)
		if mode.Not != "" || mode.Order[len(mode.Order)-1] != s.sv.Dir("wal") || mode.Order[len(mode.Order)-2] != s.sv.Dir("data") {
			t.Fatalf("%+v", mode)
		}
		t.Log(mode.Statements)
		end := s.write()
		defer end()
		held, err := s.doer.Hold(t.Context(), s.target)
		if err != nil {
			t.Fatal(err)
		}
		q, err := s.e.Quiesce(t.Context(), held, mode, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		at, err := q.Position(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		told := s.told()
		c := s.copyOf(protect.ForDrill, at)
		for i, dir := range mode.Order {
			if i == len(mode.Order)-1 {
				if err := q.(protect.Staged).Between(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			s.copied(c, false, dir)
			s.exec("CHECKPOINT", "INSERT INTO ledger SELECT -2, g + "+strconv.Itoa(i)+"00000, repeat('w', 900) FROM generate_series(1, 20000) g", "CHECKPOINT")
		}
		if err := held.Whole(t.Context()); err != nil {
			t.Error(err)
		}
		if c.Files, err = q.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := held.Close(); err != nil { // with it goes the slot
			t.Error(err)
		}
		end()
		a, _ := s.start(c)
		is, err := s.e.Recovered(t.Context(), a, c)
		if err != nil {
			t.Fatal(err)
		}
		if why := s.e.Same(at, is); why != "" {
			t.Error(why)
		}
		t.Log(s.sv.Product, "position", at, "recovered", is)
		s.whole(c, a, told)
		s.untouched(c)
	})
}

// TestBackupLost: a backup whose connection ends is no backup.
func TestBackupLost(t *testing.T) {
	versions(t, func(t *testing.T, bin string) {
		s := newSource(t, bin, "")
		mode := s.mode(protect.ModeBackupAPI, s.set(true))
		held, err := s.doer.Hold(t.Context(), s.target)
		if err != nil {
			t.Fatal(err)
		}
		q, err := s.e.Quiesce(t.Context(), held, mode, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		s.exec(fmt.Sprintf("SELECT pg_terminate_backend(%d)", held.ID()))
		if err := q.(protect.Staged).Between(t.Context()); err == nil {
			t.Error("it was ended all the same")
		}
		if files, err := q.Release(t.Context()); err == nil || len(files) > 0 {
			t.Error("it was ended all the same", files)
		}
		a := s.dial()
		defer a.Close()
		for i := 0; ask(t, a, "SELECT count(*) FROM pg_replication_slots") != "1"; i++ {
			if time.Sleep(50 * time.Millisecond); i > 1200 {
				t.Fatal("the slot of the backup is still there")
			}
		}
	})
}

func TestReplicaOfPoint(t *testing.T) {
	versions(t, func(t *testing.T, bin string) {
		s := newSource(t, bin, "")
		end := s.write()
		defer end()
		s.exec("SELECT pg_create_physical_replication_slot('plumb_replica', true)")
		at, err := s.e.Position(t.Context(), s.doer, s.target)
		if err != nil {
			t.Fatal(err)
		}
		c := s.copyOf(protect.ForReplica, at)
		c.Source = &protect.Source{Network: "unix", Address: s.socket(), User: "postgres", Password: "it's:\\secret", Slot: "plumb_replica"}
		s.instant(c)
		a, _ := s.start(c)
		if err := s.e.Follow(t.Context(), s.doer, a, c); err != nil {
			t.Fatal(err)
		}
		end()
		s.exec("CREATE TABLE late AS SELECT 1 AS n")
		behind := "?"
		for deadline := time.Now().Add(30 * time.Second); behind != "" && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			if behind, err = s.e.Caught(t.Context(), a, c); errors.Is(err, protect.ErrUnconnected) {
				behind = err.Error()
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if behind != "" || ask(t, a, "SELECT count(*) FROM public.late") != "1" {
			t.Error(behind)
		}
		s.whole(c, a, s.told())
		s.exec("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = 'plumb_replica'")
		if text, err := os.ReadFile(c.Run + "/postgresql.conf"); err != nil || strings.Contains(string(text), "secret") {
			t.Error("the password is in the configuration", err)
		}
	})
}

// TestAnotherHistoryHasThePlace: a commit that lies before the place of a point, and is of a time when the point was there already, is of
// another history. What lies behind the place is of any time.
func TestAnotherHistoryHasThePlace(t *testing.T) {
	versions(t, func(t *testing.T, bin string) {
		s := newSource(t, bin, "")
		s.exec("CREATE TABLE early AS SELECT 1 AS n")
		until := time.Now()
		s.exec("CREATE TABLE late AS SELECT 1 AS n")
		at, err := s.e.Position(t.Context(), s.doer, s.target)
		if err != nil {
			t.Fatal(err)
		}
		there := time.Now()
		s.exec("CREATE TABLE behind AS SELECT 1 AS n")
		to := replay.Target{Text: "the end", Time: time.Now().Add(time.Hour)}
		if to.Now, err = s.e.Position(t.Context(), s.doer, s.target); err != nil {
			t.Fatal(err)
		}
		for want, by := range map[string]time.Time{"": there, "the point is not of the WAL that the server has": until} {
			w, err := s.e.Way(t.Context(), s.doer, s.sv, replay.Start{Position: at, Until: by}, to)
			if want == "" && (err != nil || w.Count == 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "") {
				t.Errorf("%q: %+v, %v", want, w, err)
			}
		}
	})
}

// TestRollbackOpensTimeline rolls the server back twice to one point: each time it opens a
// timeline that is newer than all before, so that its archive keeps what it has.
func TestRollbackOpensTimeline(t *testing.T) {
	versions(t, func(t *testing.T, bin string) {
		s := newSource(t, bin, "")
		end := s.write()
		at, err := s.e.Position(t.Context(), s.doer, s.target)
		if err != nil {
			t.Fatal(err)
		}
		told := s.told()
		kept := s.copyOf(protect.ForUse, at)
		s.instant(kept)
		time.Sleep(200 * time.Millisecond)
		end()
		for timeline := 2; timeline <= 3; timeline++ {
			now, err := s.e.Position(t.Context(), s.doer, s.target)
			if err != nil {
				t.Fatal(err)
			}
			c := s.copyOf(protect.ForReplay, at)
			if out, err := exec.Command("cp", "-a", kept.Root+"/.", c.Root).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			s.branched(c, replay.Way{From: at}, replay.Target{Newest: now.Timeline}, timeline, told)
			s.replaced(c, timeline)
			c.Root = ""
			if s.server, err = s.box.Postgres(s.options); err != nil {
				t.Fatal(err)
			}
			s.describe()
			s.exec("CREATE TABLE after_it AS SELECT 1 AS n", "SELECT pg_switch_wal()")
			s.untouched(c)
			b := s.dial()
			if got := ask(t, b, "SELECT current_setting('work_mem'), current_setting('archive_mode'), current_setting('restore_command', true)"); strings.TrimSpace(got) != "5MB on" {
				t.Errorf("its own settings are %s", got)
			}
			b.Close()
			history := fmt.Sprintf("%s/%08X.history", s.archive, timeline)
			for i := 0; ; i++ {
				if _, err := os.Stat(history); err == nil {
					break
				}
				if time.Sleep(100 * time.Millisecond); i > 600 {
					t.Fatalf("the history is not in the archive: %v", tree(t, s.archive))
				}
			}
		}
		if a := s.dial(); ask(t, a, "SELECT failed_count FROM pg_stat_archiver") != "0" {
			t.Error("the archive refused: ", ask(t, a, "SELECT last_failed_wal FROM pg_stat_archiver"))
		}
	})
}

// branched lets a copy recover on a timeline of its own, and settles it.
func (s *source) branched(c protect.Copy, way replay.Way, to replay.Target, timeline int, told [writers]int64) {
	t := s.t
	t.Helper()
	fatal := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fatal(s.e.Neutralise(t.Context(), s.doer, c))
	fatal(s.e.Prepare(t.Context(), s.doer, &c, way, to))
	a, stop := s.serve(c)
	is, err := s.e.Recovered(t.Context(), a, c)
	fatal(err)
	if is.Timeline != timeline {
		t.Errorf("it stands at %+v, and the way is %+v", is, way)
	}
	fatal(s.e.Replay(t.Context(), s.doer, a, c, way))
	s.whole(c, a, told)
	a.Close()
	stop()
	c.Newest = timeline - 1
	fatal(s.e.Settle(t.Context(), s.doer, c))
}

// replaced stops the server, and puts a copy in the place of its directories.
func (s *source) replaced(c protect.Copy, n int) {
	s.t.Helper()
	err := s.server.Stop()
	for _, dir := range s.dirs() {
		err = errors.Join(err, os.Rename(dir, fmt.Sprintf("%s.before-%d", dir, n)), os.Rename(c.Root+dir, dir))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
