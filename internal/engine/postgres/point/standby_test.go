package point_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/test/sandbox"
)

// TestPointsOfStandby takes points of a server that replays what another writes.
func TestPointsOfStandby(t *testing.T) {
	versions(t, func(t *testing.T, bin string) {
		s := newSource(t, bin, "")
		end := s.write()
		defer end()
		c := s.copyOf(protect.ForReplica, protect.Position{})
		c.Source = &protect.Source{Network: "unix", Address: s.socket(), User: "postgres", Slot: "standby"}
		s.instant(c)
		s.start(c)
		pidFile, err := os.ReadFile(c.In(s.sv.Dir("data")) + "/postmaster.pid")
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(pidFile), "\n")
		pid, _ := strconv.Atoi(first)
		standby := &source{t: t, box: s.box, server: &sandbox.Server{Engine: "postgres", Socket: c.Run, PID: pid}, copies: 10}
		standby.describe()
		time.Sleep(time.Second)

		at, err := standby.e.Position(t.Context(), standby.doer, standby.target)
		if err != nil {
			t.Fatal(err)
		}
		if of, err := s.e.Position(t.Context(), s.doer, s.target); err != nil || of.Applied != "" || at.Applied != at.LSN {
			t.Errorf("the primary is at %s, the standby at %s, %v", of, at, err)
		}
		crash := standby.copyOf(protect.ForDrill, at)
		standby.instant(crash)
		a, stop := standby.start(crash)
		standby.whole(crash, a, [writers]int64{})
		stop()

		mode := standby.mode(protect.ModeBackupAPI, standby.set(true))
		if mode.Not != "" {
			t.Fatalf("%+v", mode)
		}
		held, err := standby.doer.Hold(t.Context(), standby.target)
		if err != nil {
			t.Fatal(err)
		}
		q, err := standby.e.Quiesce(t.Context(), held, mode, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if at, err = q.Position(t.Context()); err != nil {
			t.Fatal(err)
		}
		parts := standby.copyOf(protect.ForDrill, at)
		for i, dir := range mode.Order {
			if i == len(mode.Order)-1 {
				if err := q.(protect.Staged).Between(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			end := standby.still() // a volume is of one moment, and the next of a later one
			standby.copied(parts, true, dir)
			end()
			time.Sleep(500 * time.Millisecond)
		}
		if parts.Files, err = q.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		a, stop = standby.start(parts)
		standby.whole(parts, a, [writers]int64{})
		stop()
		end()
		s.exec("ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.5)", "CHECKPOINT", "CREATE TABLE without_pages AS SELECT 1 AS n", "CHECKPOINT")
		standby.refusesHalves()
	})
}

// refusesHalves waits until the standby knows that its primary logs no whole pages, and
// wants that it does not offer copies of several moments then.
func (s *source) refusesHalves() {
	s.t.Helper()
	for i := 0; ; i++ {
		b := s.dial()
		if err := b.Exec(s.t.Context(), "CHECKPOINT"); err != nil { // a restart point takes over what the primary said
			s.t.Fatal(err)
		}
		b.Close()
		mode := s.mode(protect.ModeBackupAPI, s.set(true))
		if strings.Contains(mode.Not, "full_page_writes") {
			return
		}
		if time.Sleep(200 * time.Millisecond); i > 300 {
			s.t.Fatalf("%+v", mode)
		}
	}
}
