package point

import (
	"errors"
	"strings"
	"testing"

	"plumb/internal/protect"
)

// TestStatesOfManySnapshots: what is there of a dataset is asked for at once, and only an answer makes a snapshot gone.
func TestStatesOfManySnapshots(t *testing.T) {
	const list = "zfs list -H -d 1 -t snapshot -o name "
	member := func(snapshot, guid string) protect.Member {
		dataset, _, _ := strings.Cut(snapshot, "@")
		return protect.Member{Volume: protect.Volume{Storage: "zfs", Name: dataset}, Snapshot: snapshot, GUID: guid, Birth: "9"}
	}
	proof := func(name, guid string) string {
		return name + "\tguid\t" + guid + "\n" + name + "\tcreatetxg\t9\n" + name + "\tused\t512\n" + name + "\tclones\ttank/dev\n"
	}
	m := &told{answers: map[string]string{
		list + "tank/db":  "tank/db@a\ntank/db@b\ntank/db@c" + asideMark + "\ntank/db@other\n",
		"zfs get -Hp -o":  proof("tank/db@a", "1") + proof("tank/db@b", "77") + proof("tank/db@c"+asideMark, "3"),
		"zfs get -Hp -r":  "tank/old@e\tguid\t5\ntank/old@e\tcreatetxg\t9\n",
		"zfs list -H -o ": "tank\n",
	}, fails: map[string]error{
		list + "tank/gone":         errors.New("cannot open 'tank/gone': dataset does not exist"),
		list + "away/db":           errors.New("cannot open 'away/db': dataset does not exist"),
		"zfs list -H -o name away": errors.New("cannot open 'away': dataset does not exist"),
		list + "tank/hangs":        errors.New("timed out"),
	}}
	got := ZFS{}.States(t.Context(), m, []protect.Member{member("tank/db@a", "1"), member("tank/gone@a", "1"), member("tank/db@b", "2"), member("tank/db@c", "3"),
		member("tank/db@d", "4"), member("away/db@a", "1"), member("tank/hangs@a", "1"), member("tank/renamed@e", "5")})
	if a := got[0]; a.Err != nil || a.Gone || a.Other || a.Space != 512 || len(a.Clones) != 1 {
		t.Errorf("there: %+v", a)
	}
	for i, what := range map[int]string{1: "its dataset is gone", 4: "it is gone"} {
		if a := got[i]; a.Err != nil || !a.Gone || a.Now != "" {
			t.Errorf("%s: %+v", what, a)
		}
	}
	if a := got[2]; a.Err != nil || a.Gone || !a.Other {
		t.Errorf("another: %+v", a)
	}
	if a := got[3]; a.Err != nil || a.Gone || a.Other {
		t.Errorf("its destruction began: %+v", a)
	}
	for i, why := range map[int]string{5: "the pool away is not imported", 6: "timed out"} {
		if a := got[i]; a.Err == nil || a.Gone || !strings.Contains(a.Err.Error(), why) {
			t.Errorf("%+v, want %s", a, why)
		}
	}
	if a := got[7]; a.Err != nil || !a.Gone || a.Now != "tank/old@e" {
		t.Errorf("its dataset was renamed: %+v", a)
	}
	gets := 0
	for _, line := range m.did {
		if strings.HasPrefix(line, "zfs get -Hp -o") {
			gets++
		}
		if strings.Contains(line, "@other") {
			t.Errorf("nobody asked for it: %s", line)
		}
	}
	if gets != 1 {
		t.Errorf("%d looks at the snapshots of one dataset: %q", gets, m.did)
	}
}
