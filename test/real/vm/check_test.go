package vm

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/test/program"
)

// module is how the versions of OpenZFS begin that the releases have.
var module = map[string]string{Bookworm: "2.1.", Trixie: "2.3."}

// TestCheckOnOpenZFS checks a MariaDB on a real OpenZFS of each release, and
// here finds the same on the tape that was captured there.
func TestCheckOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			m, plumb, out := openWithPlumb(t, release)
			r, err := m.OpenZFS(t.Context(), plumb.Path, out)
			if err != nil || r.Code != 0 {
				t.Fatalf("code %d, %v\n%s", r.Code, err, r.Output)
			}
			sameOnTape(t, plumb, release, r, out, "cross/zfs-recordsize-innodb")
		})
	}
}

// TestCheckPostgresOnOpenZFS does the same with a PostgreSQL, whose WAL has a
// dataset of its own, and makes it worse.
func TestCheckPostgresOnOpenZFS(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			m, plumb, out := openWithPlumb(t, release)
			r, err := m.OpenZFSPostgres(t.Context(), plumb.Path, out)
			if err != nil || r.Code != 0 {
				t.Fatalf("code %d, %v\n%s", r.Code, err, r.Output)
			}
			found := sameOnTape(t, plumb, release, r, out, "cross/zfs-logbias-postgres", "cross/zfs-full-page-writes-off-unproven",
				"cross/postgres-wal-recycle-cow")
			if slices.Contains(found, "cross/zfs-snapshots-apart-postgres") {
				t.Error("snapshots of one moment are said to be of two")
			}
			worse := findings(t, plumb, read(t, out, "worse.json"))
			t.Logf("made worse: found %q", worse)
			wants(t, worse, "cross/zfs-full-page-writes-off", "cross/zfs-recordsize-below-page-postgres", "cross/zfs-snapshots-apart-postgres",
				"cross/zfs-sync-disabled-postgres-data", "cross/zfs-sync-disabled-postgres-wal", "cross/zfs-primarycache-postgres")
		})
	}
}

// openWithPlumb gives a machine, a binary to take along, and where what comes
// back goes; go test -artifacts keeps it.
func openWithPlumb(t *testing.T, release string) (m *Machine, plumb program.Program, out string) {
	t.Helper()
	return Open(t, release), program.ForTest(t), t.ArtifactDir()
}

// sameOnTape wants some findings, and the same findings on the tape.
func sameOnTape(t *testing.T, plumb program.Program, release string, r Result, out string, want ...string) (found []string) {
	t.Helper()
	t.Logf("booted in %v, all took %v\n%s", r.Boot, r.Took, r.Output)
	if !strings.HasPrefix(string(r.Output), module[release]) {
		t.Errorf("not an OpenZFS %s", module[release])
	}
	found = findings(t, plumb, read(t, out, "check.json"))
	t.Logf("found %q", found)
	wants(t, found, want...)
	replayed, _ := plumb.Run(t, 0, "check", "--json", "--tape", filepath.Join(out, "host.tape.gz"))
	if again := findings(t, plumb, replayed); !slices.Equal(again, found) {
		t.Errorf("the tape shows %q, the machine %q", again, found)
	}
	return found
}

func wants(t *testing.T, found []string, want ...string) {
	t.Helper()
	for _, rule := range want {
		if !slices.Contains(found, rule) {
			t.Errorf("%s did not fire", rule)
		}
	}
}

// findings lists the rules of a check's document.
func findings(t *testing.T, plumb program.Program, text string) (rules []string) {
	t.Helper()
	var doc struct {
		Findings []struct{ Rule string }
		Gaps     []json.RawMessage
	}
	plumb.Document(t, "check", text, &doc)
	for _, f := range doc.Findings {
		rules = append(rules, f.Rule)
	}
	for _, g := range doc.Gaps {
		t.Logf("gap: %s", g)
	}
	slices.Sort(rules)
	return rules
}
