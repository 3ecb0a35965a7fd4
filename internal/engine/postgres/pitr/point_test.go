package pitr

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

// landed is a point that was restored below a root: its log lies apart from its data.
type landed struct {
	*writing
	root, data, log string
	told            protect.Point
	redo, end       uint64 // where its recovery begins, and the end of its log
}

// newLanded makes one whose log has the transactions 10 to 12, and whose server said just before that it stood behind 11.
func newLanded(t *testing.T) *landed {
	t.Helper()
	l := &landed{writing: newWriting(t), root: t.TempDir(), redo: 2*size + 40, end: 3*size + 40 + 2*40}
	l.data, l.log = l.root+"/srv/data", l.root+"/mnt/log/wal"
	for _, dir := range []string{l.data + "/global", l.data + "/pg_replslot", l.data + "/pg_tblspc", l.log} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	must(t, os.Symlink("/mnt/log/wal", l.data+"/pg_wal"))
	for name, text := range map[string]string{"PG_VERSION": "15\n", "backup_label": "of a backup that had begun\n", "postgresql.conf": "", "postgresql.auto.conf": "work_mem = '5MB'\n"} {
		must(t, os.WriteFile(filepath.Join(l.data, name), []byte(text), 0o600))
	}
	l.control(7, 6, 1)
	l.put(wal.Name(1, 2*size, size), l.segment(1, 2, 10, 0))
	l.put(wal.Name(1, 3*size, size), l.segment(1, 3, 11, 12))
	l.told = protect.Point{ID: "20261130T070000Z-0001", Mode: protect.ModeCrash, Position: protect.Position{LSN: wal.Text(3*size + 80), Timeline: 1},
		Times: protect.Times{Snapshot: time.Date(2000, 1, 1, 0, 0, 11, 0, time.UTC)},
		Server: protect.Server{Identity: "7", Version: "15.18", UID: os.Getuid(), GID: os.Getgid(), Flavor: "postgres",
			Dirs: []protect.Dir{{Role: "data", Path: "/srv/data"}, {Role: "wal", Path: "/mnt/log/wal", Link: "pg_wal"}}}}
	return l
}

func (l *landed) put(name string, text []byte) {
	l.t.Helper()
	must(l.t, os.WriteFile(filepath.Join(l.log, name), text, 0o600))
}

func (l *landed) control(system uint64, state, timeline uint32) {
	l.t.Helper()
	b, o := make([]byte, 8192), binary.NativeEndian
	o.PutUint64(b, system)
	o.PutUint32(b[16:], state)
	o.PutUint64(b[40:], l.redo)
	o.PutUint32(b[48:], timeline)
	must(l.t, os.WriteFile(l.data+"/global/pg_control", b, 0o600))
}

// onto brings it to a moment.
func (l *landed) onto(to replay.Target) (w moment.Way, err error) {
	m, err := Engine{}.Based(l.backup(), l.told)
	must(l.t, err)
	a := moment.Asked{To: to, Alone: to.Text == moment.Base}
	if w, err = (Engine{}).Plan(l.t.Context(), l.shelf, m, a); err != nil {
		return w, err
	}
	at := moment.At{Root: l.root, Data: l.data, Dir: l.data, UID: l.told.Server.UID, GID: l.told.Server.GID, Asked: a}
	return w, Engine{}.Onto(l.t.Context(), hosttest.LiveDoer(l.t), l.shelf, &w, l.told, at)
}

func (l *landed) backup() manifest.Manifest {
	return manifest.Manifest{ID: "20261130T080000Z-0a0b0c0d", Point: l.told.ID, Began: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC),
		Facts: map[string]string{"flavor": "postgres", "identity": "7", "lsn": l.told.Position.LSN, "timeline": "1"}, Streams: []manifest.Stream{{Name: "tank/db", Kind: manifest.ZFS}, {Name: "point", Kind: manifest.Point}}}
}

// kept archives what the server wrote later: 3 as a whole, with the transactions behind those of the point.
func (l *landed) kept(more ...uint32) {
	l.t.Helper()
	l.prev = 2*size + 80 // the end of the segment before
	l.archive(wal.Name(1, 3*size, size), l.segment(1, 3, append([]uint32{11, 12}, more...)...))
}

func (l *landed) conf() string {
	l.t.Helper()
	text, err := os.ReadFile(l.data + "/postgresql.auto.conf")
	must(l.t, err)
	return string(text)
}

func second(n int) replay.Target {
	return replay.Target{Text: "a time", Time: time.Date(2000, 1, 1, 0, 0, n, 0, time.UTC)}
}

// What a point gets for its first start: the log behind it, and its links lead to what was restored.
func TestOntoAPoint(t *testing.T) {
	l := newLanded(t)
	must(t, os.MkdirAll(l.data+"/plumb.wal", 0o700)) // of an earlier recovery
	must(t, os.WriteFile(l.data+"/plumb.wal/old", nil, 0o600))
	l.kept(13, 14)
	w, err := l.onto(second(14))
	if err != nil || w.Last != wal.Text(l.end) || w.Files != 1 {
		t.Fatalf("%+v, %v", w, err)
	}
	if to, err := os.Readlink(l.data + "/pg_wal"); err != nil || to != "../../mnt/log/wal" {
		t.Errorf("pg_wal leads to %q, %v", to, err)
	}
	for name, want := range map[string]bool{"plumb.wal/" + wal.Name(1, 3*size, size): true, "plumb.wal/old": false, "backup_label": false, "recovery.signal": true, "postgresql.auto.conf.before": true} {
		if _, err := os.Stat(filepath.Join(l.data, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, want := range []string{"recovery_target_lsn = '" + w.Last + "'\n", "archive_mode = 'off'\n", "logging_collector = 'off'\n", "restore_command = 'cp plumb.wal/%f %p'\n"} {
		if !strings.Contains(l.conf(), want) {
			t.Errorf("it lacks %q:\n%s", want, l.conf())
		}
	}
}

// PostgreSQL ends a recovery whose target lies in the log that the snapshots have: its files are not whole there. So where nothing is to be
// replayed there is no target.
func TestOntoAPointWithoutATarget(t *testing.T) {
	for what, to := range map[string]replay.Target{"cp plumb.wal/%f %p": second(13), "false": {Text: moment.Base}} {
		l := newLanded(t)
		l.kept(13)
		w, err := l.onto(to)
		if conf := l.conf(); err != nil || w.Files != 0 || !strings.Contains(conf, "recovery_target_lsn = ''\n") || strings.Contains(conf, "'immediate'") || !strings.Contains(conf, "restore_command = '"+what+"'\n") {
			t.Errorf("%s: %+v, %v\n%s", what, w, err, conf)
		}
	}
}

// spaces has the first transaction of segment 3 be the making of a tablespace.
func spaces(l *landed, more ...uint32) []byte {
	l.prev = 2*size + 80
	b := l.segment(1, 3, append([]uint32{11, 12}, more...)...)
	b[40+17] = 5 // by whom it was written
	sum := crc32.MakeTable(crc32.Castagnoli)
	binary.NativeEndian.PutUint32(b[40+20:], crc32.Update(crc32.Update(0, sum, b[40+24:40+34]), sum, b[40:40+20]))
	return b
}

// A tablespace that was made before the last checkpoint is not made again.
func TestOntoAPointWithATablespace(t *testing.T) {
	l := newLanded(t)
	l.redo = 3*size + 80
	l.control(7, 6, 1)
	l.put(wal.Name(1, 3*size, size), spaces(l))
	l.archive(wal.Name(1, 3*size, size), spaces(l, 13, 14))
	if w, err := l.onto(second(14)); err != nil || w.Last != wal.Text(l.end) {
		t.Errorf("%+v, %v", w, err)
	}
}

// A moment that the point alone shows to be too early is refused, and so is what is not of one timeline, or lacks some of its log.
func TestOntoNoPoint(t *testing.T) {
	for name, c := range map[string]struct {
		to   replay.Target
		do   func(*landed)
		want string
	}{
		"a time before the snapshots":       {second(10), nil, "a time is before the point, at 0/300050"},
		"a time of a commit in them":        {second(12), nil, "a time is before the point, at 0/300078"},
		"a place before what the server":    {replay.Target{Text: "a place", LSN: "0/300040"}, nil, "a place is before the point, at 0/300050"},
		"a place in them":                   {replay.Target{Text: "a place", LSN: "0/300050"}, nil, "a place is before the point, at 0/300078"},
		"of another server":                 {second(14), func(l *landed) { l.control(8, 6, 1) }, "it holds data of the server 8"},
		"of a standby":                      {second(14), func(l *landed) { l.control(7, 5, 1) }, "it is of a standby"},
		"its control file is of a timeline": {second(14), func(l *landed) { l.control(7, 6, 2) }, "changing them"},
		"its log is of a later timeline":    {second(14), func(l *landed) { l.put(wal.Name(2, 3*size, size), make([]byte, size)) }, "changing them"},
		"without the log that it begins at": {second(14), func(l *landed) { must(l.t, os.Remove(filepath.Join(l.log, wal.Name(1, 2*size, size)))) }, "lacks " + wal.Name(1, 2*size, size)},
		"without the end of its log":        {second(14), func(l *landed) { must(l.t, os.Remove(filepath.Join(l.log, wal.Name(1, 3*size, size)))) }, "ends at 0/300000, and the server had written up to 0/300050"},
		"without any log":                   {second(14), func(l *landed) { must(l.t, os.RemoveAll(l.log)); must(l.t, os.Mkdir(l.log, 0o700)) }, "has no log"},
		"a tablespace":                      {second(14), func(l *landed) { l.put(wal.Name(1, 3*size, size), spaces(l)) }, "a tablespace was created or dropped"},
		"a pipe": {second(14), func(l *landed) {
			must(l.t, os.Remove(l.data+"/global/pg_control"))
			must(l.t, unix.Mkfifo(l.data+"/global/pg_control", 0o600))
		}, "global/pg_control is a pipe"},
		"another link":             {second(14), func(l *landed) { must(l.t, os.Symlink("/etc", l.data+"/base")) }, "the link base leads to /etc"},
		"of another past":          {second(14), func(l *landed) { l.put(wal.Name(1, 3*size, size), l.segment(1, 3, 11, 9)) }, "is another in " + wal.Name(1, 3*size, size)},
		"a timeline that was left": {replay.Target{Text: "the end"}, left, "does not branch off after"},
	} {
		l := newLanded(t)
		l.kept(13, 14)
		if c.do != nil {
			l.prev = 2*size + 80
			c.do(l)
		}
		if w, err := l.onto(c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		if _, err := os.Stat(l.data + "/recovery.signal"); err == nil {
			t.Errorf("%s: it recovers when it is started", name)
		}
	}
}

// left has timeline 2 begin behind what the server had said that it wrote, and before the end of what the snapshots have.
func left(l *landed) {
	l.archive("00000002.history", []byte("1\t"+wal.Text(3*size+80)+"\tno recovery target specified\n"))
	b := l.segment(2, 3, 11, 21, 0)
	l.archive(wal.Name(2, 3*size, size), b)
}

// Points are of one moment, and where their log stood was noted. Of those on ZFS the log is replayed, and kept from pruning.
func TestPointsAsBases(t *testing.T) {
	l := newLanded(t)
	m := l.backup()
	based, err := Engine{}.Based(m, l.told)
	if err != nil || based.Facts[factVersion] != "15" || based.Facts[factStart] != l.told.Position.LSN || !based.Began.Equal(l.told.Times.Snapshot) || m.Facts[factStart] != "" {
		t.Errorf("%+v, %v", based, err)
	}
	for want, change := range map[string]func(*protect.Point){
		"its files are of several moments": func(p *protect.Point) { p.Mode = protect.ModeBackupAPI },
		"the mode freeze: its files are of several moments": func(p *protect.Point) { // the server did not stand still all the time
			p.Mode, p.Label, p.Members = protect.ModeFreeze, protect.Crash, []protect.Member{{Birth: "7"}, {Birth: "8"}}
		},
		"was not noted":      func(p *protect.Point) { p.Position = protect.Position{} },
		"it is of a standby": func(p *protect.Point) { p.Position.Applied = p.Position.LSN },
	} {
		told := l.told
		change(&told)
		if _, err := (Engine{}).Based(m, told); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, and it should say %q", err, want)
		}
	}
	log := segments(1, 2, 3, 4)
	for i := range log {
		log[i].Server = Server(7)
	}
	at, in, err := Engine{}.Begins(m, log)
	if err != nil || at != place(3*size+80, 1) || len(in) != 1 || in[0] != log[1] {
		t.Errorf("%+v, %+v, %v", at, in, err)
	}
	delete(m.Facts, "timeline")
	if at, _, err := (Engine{}).Begins(m, log); err != nil || at != place(3*size+80, 0) {
		t.Errorf("of a former version: %+v, %v", at, err)
	}
	if is, known := (Engine{}).Alone(m); !is || !known || !(Engine{}).Knows(m) || !(*Gaps)(nil).Base(Server(7), m) {
		t.Error("a point is whole by itself, and log is replayed onto it")
	}
	for mode, is := range map[string]bool{protect.ModeCrash: true, protect.ModeFreeze: true, protect.ModeBackupAPI: false, protect.ModeLocked: false} {
		m.Facts["mode"] = mode
		if (Engine{}).Knows(m) != is || (*Gaps)(nil).Base(Server(7), m) != is {
			t.Errorf("of mode %s it is a base: %t", mode, !is)
		}
	}
	m.Facts["mode"], m.Facts["applied"] = protect.ModeCrash, l.told.Position.LSN
	if (Engine{}).Knows(m) || (*Gaps)(nil).Base(Server(7), m) {
		t.Error("no log is replayed onto a point of a standby")
	}
	delete(m.Facts, "applied")
	m.Facts["lsn"] = ""
	if (Engine{}).Knows(m) {
		t.Error("where its log stood was not noted")
	}
	m.Facts["lsn"] = l.told.Position.LSN
	m.Streams[0].Kind = manifest.Btrfs
	if (Engine{}).Knows(m) {
		t.Error("no log is replayed onto subvolumes")
	}
}
