package point_test

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/engine/postgres/point"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// TestGrants takes a point as the role that the grants make, and sees what is said
// where one is missing.
func TestGrants(t *testing.T) {
	versions(t, func(t *testing.T, bin string) {
		s := newSource(t, bin, "")
		text := point.Grants(s.sv.Version, "snapshot")
		s.exec(text)
		s.target.Logins = []host.Login{{User: "plumb", Database: "postgres"}}
		s.target.Name += " as plumb"
		if _, err := s.e.Position(t.Context(), s.doer, s.target); err != nil {
			t.Error(err)
		}
		mode := s.mode(protect.ModeBackupAPI, s.set(true))
		if mode.Not != "" || !strings.Contains(mode.Statements[0], "slot") {
			t.Fatalf("%+v", mode)
		}
		held, err := s.doer.Hold(t.Context(), s.target)
		if err != nil {
			t.Fatal(err)
		}
		q, err := s.e.Quiesce(t.Context(), held, mode, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.(protect.Staged).Between(t.Context()); err != nil {
			t.Error(err)
		}
		if files, err := q.Release(t.Context()); err != nil || !strings.HasPrefix(files["data/backup_label"], "START WAL LOCATION") {
			t.Error(files, err)
		}
		var revoke []string
		for line := range strings.Lines(text) {
			if grant, ok := strings.CutPrefix(line, "GRANT EXECUTE"); ok {
				revoke = append(revoke, "REVOKE EXECUTE"+strings.Replace(strings.TrimSuffix(grant, ";\n"), " TO ", " FROM ", 1))
			}
		}
		s.exec(append(revoke, "ALTER ROLE plumb NOREPLICATION")...)
		mode = s.mode(protect.ModeBackupAPI, s.set(true))
		if !strings.Contains(mode.Not, "plumb may not execute") || strings.Contains(strings.Join(mode.Statements, ""), "slot") {
			t.Errorf("%+v", mode)
		}
	})
}
