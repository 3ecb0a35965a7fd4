package pitr

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

// pointOf is the backup of a point that was taken without a lock, of a server that stood at a place just before, and what it tells of it.
func pointOf(file string, offset int, gtid string, at time.Time) (manifest.Manifest, protect.Point) {
	told := protect.Point{ID: "20261130T070000Z-0001", Mode: protect.ModeCrash, Label: protect.Crash, Position: protect.Position{File: file, Offset: int64(offset), GTID: gtid},
		Times: protect.Times{Began: at, Snapshot: at.Add(100 * time.Millisecond), Storage: 100 * time.Millisecond, Ended: at.Add(time.Second)},
		Server: protect.Server{Flavor: "mariadb", Product: "MariaDB 10.11.19", Version: "10.11.19", Settings: map[string]string{"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"},
			Dirs: []protect.Dir{{Role: "data", Path: "/srv/data"}, {Role: "binlog", Path: "/mnt/log"}}}}
	m := manifest.Manifest{ID: "20261130T080000Z-0a0b0c0d", Point: told.ID, Began: at.Add(time.Hour), Ended: at.Add(2 * time.Hour), Streams: []manifest.Stream{{Name: "tank/db", Kind: manifest.ZFS}, {Name: "point", Kind: manifest.Point}},
		Facts: map[string]string{"flavor": "mariadb", "product": "MariaDB 10.11.19", "version": "10.11.19", "gtid": gtid, "binlog": file, "binlog_position": strconv.Itoa(offset)}}
	return m, told
}

// A point on ZFS is a base if its binary log is in it, and the log from its file on is kept; others are none.
func TestPointsAsBases(t *testing.T) {
	m, told := pointOf("binlog.000002", 500, "0-7-9", time.Now())
	based, err := Engine{}.Based(m, told)
	if err != nil || based.Facts[factApart] == "" || m.Facts[factApart] != "" || !based.Began.Equal(told.Times.Began) || !based.Ended.Equal(told.Times.Until()) {
		t.Errorf("%+v, %v", based, err)
	}
	if b, err := baseOf(based); err != nil || !b.apart || b.at.GTID != "0-7-9" || b.server.Version != "10.11.19" || b.point.String() != "point" {
		t.Errorf("%+v, %v", b, err)
	}
	told.Mode, told.Label = protect.ModeLocked, protect.Proven
	if based, err = (Engine{}).Based(m, told); err != nil || based.Facts[factApart] != "" {
		t.Errorf("of a locked one the GTIDs are those of the place: %+v, %v", based, err)
	}
	log := []archive.Piece{{Server: "mysql", Series: "20261130T070000Z-0a0b0c0d", File: "binlog.000001", To: 700}, {Server: "mysql", Series: "20261130T070000Z-0a0b0c0d", File: "binlog.000002", To: 700}}
	at, in, err := Engine{}.Begins(m, log)
	if err != nil || at != place(log[1]) || len(in) != 1 {
		t.Errorf("%+v, %+v, %v", at, in, err)
	}
	for name, change := range map[string]func(m *manifest.Manifest){
		"on btrfs":             func(m *manifest.Manifest) { m.Streams[0].Kind = manifest.Btrfs },
		"of another product":   func(m *manifest.Manifest) { m.Facts["flavor"] = "postgres" },
		"without a binary log": func(m *manifest.Manifest) { delete(m.Facts, "binlog") },
	} {
		one, _ := pointOf("binlog.000002", 500, "", time.Now())
		if change(&one); (Engine{}).Knows(one) {
			t.Errorf("one %s is a base", name)
		}
	}
	if !(Engine{}).Knows(m) {
		t.Error("it is no base")
	}
}

// What nothing proves to be at an exact place of the log is refused, with what to do instead.
func TestPointsThatAreNoBases(t *testing.T) {
	for want, change := range map[string]func(p *protect.Point){
		"are not of one moment": func(p *protect.Point) { // the server was frozen, and did not stay so
			p.Mode, p.Members = protect.ModeFreeze, []protect.Member{{Birth: "7"}, {Birth: "8"}}
		},
		"kept no binary log":                   func(p *protect.Point) { p.Position.File = "" },
		`innodb_flush_log_at_trx_commit = "0"`: func(p *protect.Point) { p.Server.Settings["innodb_flush_log_at_trx_commit"] = "0" },
		`innodb_flush_log_at_trx_commit = ""`:  func(p *protect.Point) { delete(p.Server.Settings, "innodb_flush_log_at_trx_commit") },
		"for MyRocks nothing proves":           func(p *protect.Point) { p.Server.Settings["plugin_load_add"] = "ROCKSDB=ha_rocksdb.so" },
		"gets keys for encrypted tables from":  func(p *protect.Point) { p.Server.Settings["plumb:keys"] = "file_key_management" },
		"its database shop is a link":          func(p *protect.Point) { p.Server.Dirs[0].Link = "shop" },
		"its data may lack what its binary log ": func(p *protect.Point) {
			p.Mode, p.Server.Settings["innodb_flush_log_at_trx_commit"] = protect.ModeLocked, "0"
		}, // whose lock was lost
	} {
		m, told := pointOf("binlog.000002", 500, "0-7-9", time.Now())
		change(&told)
		if _, err := (Engine{}).Based(m, told); err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%v, and it should say %q", err, want)
		}
	}
	m, told := pointOf("binlog.000002", 500, "0-7-9", time.Now())
	told.Mode, told.Label, told.Server.Settings["innodb_flush_log_at_trx_commit"] = protect.ModeLocked, protect.Locked, "0"
	if _, err := (Engine{}).Based(m, told); err != nil {
		t.Errorf("under a lock it does not matter: %v", err)
	}
}

// Where a point stands when it has recovered must not be before where its server stood, nor anywhere else if that was locked.
func TestReaches(t *testing.T) {
	b := base{at: protect.Position{File: "binlog.000009", Offset: 500}}
	for _, c := range []struct {
		file         string
		offset       int64
		bare, locked bool
	}{
		{"binlog.000009", 500, true, true}, {"binlog.000009", 501, true, false}, {"binlog.000010", 300, true, false}, {"binlog.000009", 499, false, false}, {"binlog.000008", 900, false, false}, {"", 0, false, false},
	} {
		is := protect.Position{File: c.file, Offset: c.offset}
		if err := reaches(is, b, false); (err == nil) != c.bare || err != nil && hint.Of(err) == "" {
			t.Errorf("%+v: %v", is, err)
		}
		if err := reaches(is, b, true); (err == nil) != c.locked || err != nil && hint.Of(err) == "" {
			t.Errorf("%+v, under a lock: %v", is, err)
		}
	}
}

// A statement that the recovery finished has a GTID of the server that recovered.
func TestFinishedByRecovery(t *testing.T) {
	is := protect.Position{File: "binlog.000009", Offset: 500, GTID: "0-7-100,3-2147483617-8"}
	if err := reaches(is, base{at: protect.Position{File: "binlog.000009", Offset: 400}}, false); err == nil || !strings.Contains(err.Error(), "its recovery finished a statement") || hint.Of(err) == "" {
		t.Error(err)
	}
}

// Of a point without a lock the GTIDs may be later than the place. What was archived in the second in which it began, and after that, may be
// behind it; when it began is known exactly.
func TestPlanOfAPoint(t *testing.T) {
	at := time.Now().Truncate(time.Second).Add(-time.Hour)
	for name, c := range map[string]struct {
		gtid   string
		locked bool
		kept   time.Time
		want   string
	}{
		"its GTIDs":                {"3-7-1", false, time.Now(), ""},
		"later GTIDs":              {"3-7-2", false, time.Now(), ""},
		"later GTIDs under a lock": {"3-7-2", true, time.Now(), "3-7-2 is not the last of its domain"},
		"earlier GTIDs":            {"3-7-0", false, time.Now(), "the server had come no further than 3-7-0"},
		"kept as it began":         {"3-7-1", false, at.Add(200 * time.Millisecond), ""},
		"kept before it began":     {"3-7-1", false, at.Add(-time.Millisecond), "had come past binlog.000001:"},
	} {
		l := newLog(t)
		l.k.Now = func() time.Time { return c.kept }
		l.files("binlog.000001")
		head := append(beginAt(at.Add(-time.Hour)), bytes.Join([][]byte{gtid(1), change(1), commit()}, nil)...)
		l.write("binlog.000001", head, gtid(2), change(2), commit())
		l.turns()
		m, told := pointOf("binlog.000001", len(head), c.gtid, at)
		if c.locked {
			told.Mode, told.Label = protect.ModeLocked, protect.Locked
		}
		m, err := Engine{}.Based(m, told)
		if err != nil {
			t.Fatal(err)
		}
		w, err := Engine{}.Plan(t.Context(), l.shelf, m, moment.Asked{To: replay.Target{Text: "the end"}})
		if c.want == "" && (err != nil || w.Count != 1 || len(w.Notes) != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		early := moment.Asked{To: replay.Target{Text: "early", Time: at.Add(-time.Minute)}}
		if w, err := (Engine{}).Plan(t.Context(), l.shelf, m, early); err == nil || !strings.Contains(err.Error(), "early is before the point") {
			t.Errorf("%s, before it: %+v, %v", name, w, err)
		}
	}
}
