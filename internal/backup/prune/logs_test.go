package prune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	mysqlpitr "plumb/internal/engine/mysql/pitr"
	postgrespitr "plumb/internal/engine/postgres/pitr"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/protect/keep"
)

const segment = 1 << 20 // bytes

// logged is a host that also archives there: the log of PostgreSQL 7, and the binary log of "mysql".
type logged struct {
	*world
	k      archive.Keeper
	series string
}

func newLogged(t *testing.T) *logged {
	t.Helper()
	w := newWorld(t)
	w.Products = []archive.Product{mysqlpitr.Engine{}, postgrespitr.Engine{}}
	key, err := age.GenerateX25519Identity()
	must(t, err)
	return &logged{w, archive.Keeper{Store: w.cal, Sign: w.Sign, Public: w.b.Public, To: []age.Recipient{key.Recipient()}, Host: "db1", Plumb: "test", Now: w.Now}, "20261126T120000Z-00000001"}
}

var zeros = make([]byte, segment)

func (l *logged) keep(t *testing.T, p archive.Piece) {
	t.Helper()
	_, err := l.k.Keep(t.Context(), archive.Entry{Piece: p, Ends: true}, bytes.NewReader(zeros[:p.To-p.From]))
	must(t, err)
}

func ofWAL(file string, to int64) archive.Piece {
	return archive.Piece{Server: postgrespitr.Server(7), Series: postgrespitr.Series, File: file, To: to}
}

// wal archives segments of a timeline.
func (l *logged) wal(t *testing.T, timeline int, numbers ...uint64) {
	t.Helper()
	for _, n := range numbers {
		l.keep(t, ofWAL(wal.Name(timeline, n*segment, segment), segment))
	}
}

func ofBinlog(series string, n int, from, to int64) archive.Piece {
	return archive.Piece{Server: "mysql", Series: series, File: fmt.Sprintf("binlog.%06d", n), From: from, To: to}
}

// binlog archives files of the binary log in two pieces each.
func (l *logged) binlog(t *testing.T, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		l.keep(t, ofBinlog(l.series, n, 0, 100))
		l.keep(t, ofBinlog(l.series, n, 100, 150))
	}
}

// pg is the job of a base of PostgreSQL that begins in a segment.
func (l *logged) pg(timeline int, n uint64) backup.Job {
	return l.base(map[string]string{"postgres_system": "7", "postgres_version": "15", "base_start_lsn": wal.Text(n*segment + 40), "base_timeline": fmt.Sprint(timeline)})
}

// maria is one of MariaDB that ends in a file.
func (l *logged) maria(n int) backup.Job {
	return l.base(map[string]string{"mysql_version": "10.11.14-MariaDB", "base_binlog": fmt.Sprintf("binlog.%06d", n), "base_binlog_position": "120"})
}

func (l *logged) base(facts map[string]string) backup.Job {
	j := l.job("")
	j.Server, j.Facts = "", facts
	j.Sources[0].Stream = manifest.Stream{Name: "base", Kind: manifest.Command}
	return j
}

func (l *logged) run(t *testing.T, j backup.Job) string {
	t.Helper()
	res, err := l.b.Run(t.Context(), j)
	must(t, err)
	l.pass(time.Second)
	return res.ID
}

// pieces gives what is archived: short names of segments, files and others.
func (l *logged) pieces(t *testing.T) (names []string) {
	t.Helper()
	all, err := archive.Shelf{Store: l.cal}.List(t.Context(), "")
	must(t, err)
	for _, p := range all {
		name := p.File
		if len(name) == 24 {
			name = strings.TrimLeft(name[:8], "0") + "-" + strings.TrimLeft(name[16:], "0")
		}
		if p.Server == "mysql" {
			name = strings.TrimLeft(strings.TrimPrefix(name, "binlog."), "0") + ":" + fmt.Sprint(p.From)
		}
		names = append(names, name)
	}
	return names
}

// left gives all objects of archives that are there.
func (l *logged) left(t *testing.T) (names []string) {
	t.Helper()
	must(t, l.cal.List(t.Context(), archive.Prefix, func(i store.Info) error { names = append(names, i.Name); return nil }))
	return names
}

// Logs go with the bases that need them: in two steps, and what a base that stays or can come back needs is kept.
func TestLogsGoWithBases(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3, 4)
	l.binlog(t, 1, 2, 3)
	l.keep(t, ofWAL("00000002.history", 40))
	l.keep(t, ofWAL(wal.Name(1, 2*segment, segment)+".00000028.backup", 300))
	l.keep(t, ofWAL(wal.Name(1, 3*segment, segment)+".partial", segment))
	old, oldLog := l.run(t, l.pg(1, 2)), l.run(t, l.maria(1))
	l.run(t, l.pg(1, 4))
	l.run(t, l.maria(3))
	all := []string{"1:0", "1:100", "2:0", "2:100", "3:0", "3:100", "1-1", "1-2", wal.Name(1, 2*segment, segment) + ".00000028.backup", "1-3", wal.Name(1, 3*segment, segment) + ".partial", "1-4", "00000002.history"}
	equal(t, "there", l.pieces(t), all)
	plan := l.plan(t)
	if n := len(plan.Logs); n != 2 || plan.Logs[0].Then.Pieces != 0 || plan.Logs[1].Then.Pieces != 1 || plan.Logs[1].By != old || plan.Logs[0].By != oldLog {
		t.Fatalf("%+v", plan.Logs)
	}
	done := l.prune(t, "last=2", 0) // both that are older go
	equal(t, "marked", done.Marked, []string{old, oldLog})
	equal(t, "there", l.pieces(t), all)
	l.pass(73 * time.Hour)
	// Taken back, the base has all that it had.
	must(t, l.TakeBack(t.Context(), old))
	done = l.prune(t, "last=3", 0)
	equal(t, "removed", done.Removed, []string{oldLog})
	equal(t, "there", l.pieces(t), slices.Concat(all[4:6], all[7:]))
	if len(done.Logs) != 2 || done.Logs[0].Gone.Pieces != 4 || done.Logs[1].Gone.Pieces != 1 {
		t.Errorf("%+v", done.Logs)
	}
	l.prune(t, "last=2", 0)
	l.pass(73 * time.Hour)
	l.prune(t, "last=2", 0)
	equal(t, "there", l.pieces(t), []string{"3:0", "3:100", "1-4", "00000002.history"})
	l.pass(73 * time.Hour)
	if done = l.prune(t, "last=2", 0); len(done.Logs) > 0 {
		t.Errorf("again: %+v", done.Logs)
	}
	b, err := archive.Shelf{Store: l.cal, Trust: l.Own}.Beginning(t.Context(), "mysql")
	if must(t, err); b.Gone.Text != "binlog.000003" || len(b.Next) > 0 || b.By != "db1" {
		t.Errorf("%+v", b)
	}
	if n := len(l.left(t)); n != 2+4*2 {
		t.Errorf("%d objects are left: %q", n, l.left(t))
	}
}

// Without a base that begins in it a log stays, and the plan says so.
func TestLogsWithoutBases(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3)
	l.binlog(t, 1, 2)
	l.keep(t, archive.Piece{Server: "other", Series: "what", File: "ever", To: 3})
	l.run(t, l.maria(7))
	l.run(t, l.base(map[string]string{"postgres_system": "8", "postgres_version": "15", "base_start_lsn": "0/500000", "base_timeline": "1"}))
	all := l.pieces(t)
	for range 3 {
		l.prune(t, "last=9", 0)
		l.pass(100 * time.Hour)
	}
	equal(t, "there", l.pieces(t), all)
	why := []string{"no backup that stays says that it begins in it", "of no product", "no backup that stays says that it begins in it"}
	for i, one := range l.plan(t).Logs {
		if !strings.Contains(one.Why, why[i]) || one.Stays.Pieces == 0 {
			t.Errorf("%+v", one)
		}
	}
	l.run(t, l.pg(1, 5)) // behind all that is archived
	for range 3 {
		l.prune(t, "last=9", 0)
		l.pass(100 * time.Hour)
	}
	equal(t, "there", l.pieces(t), all)
	if got := l.plan(t).Logs[2].Why; !strings.Contains(got, "begins at 0/500028, which is not in the archive") {
		t.Error(got)
	}
}

// A name in the bucket is no place in the log: who may write there, and has no key, cannot have what was archived removed by naming the place at
// which a base begins. It is told which object that is.
func TestLogsForged(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3)
	l.binlog(t, 1, 2)
	l.run(t, l.maria(7))
	l.run(t, l.pg(1, 5)) // both behind all that is archived
	all := l.left(t)
	forged := []archive.Piece{ofBinlog("20291126T120000Z-00000001", 7, 0, 200), ofWAL(wal.Name(1, 5*segment, segment), segment)}
	for _, p := range forged {
		_, err := l.cal.Put(t.Context(), p.Name(), []byte("trust me"), store.Put{})
		must(t, err)
		all = append(all, p.Name())
	}
	for range 4 {
		l.prune(t, "last=9", 0)
		l.pass(100 * time.Hour)
	}
	slices.Sort(all)
	equal(t, "there", l.left(t), all)
	for i, one := range l.plan(t).Logs {
		if !strings.Contains(one.Why, forged[i].Name()) {
			t.Errorf("%+v", one)
		}
	}
}

// A backup of which nobody knows where it begins, and one that is being made, may need what was archived since shortly
// before it.
func TestLogsOfUnknownBases(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1)
	l.pass(50 * time.Hour)
	l.wal(t, 1, 2)
	packed := l.run(t, l.base(nil))
	l.wal(t, 1, 3, 4, 5)
	l.run(t, l.pg(1, 5))
	prune := func(rules string) {
		t.Helper()
		l.prune(t, rules, 0)
		l.pass(80 * time.Hour)
		l.prune(t, rules, 0)
	}
	prune("last=5")
	equal(t, "there", l.pieces(t), []string{"1-2", "1-3", "1-4", "1-5"})
	if got := l.plan(t).Logs[0].Why; !strings.Contains(got, "where backup "+packed+" begins is not known") {
		t.Error(got)
	}
	prune("last=1")
	equal(t, "there", l.pieces(t), []string{"1-5"})

	l.wal(t, 1, 6, 7, 8)
	l.b.Store = dyingAfter(l.cal, 2)
	job := l.pg(1, 6)
	if _, err := l.b.Run(t.Context(), job); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	l.b.Store = l.cal
	l.run(t, l.pg(1, 8))
	l.prune(t, "last=1", 0)
	l.pass(50 * time.Hour)
	res, err := l.b.Run(t.Context(), job) // it goes on, and is alive for as long again
	if must(t, err); !res.GoesOn {
		t.Fatal("it began anew")
	}
	l.prune(t, "last=2", 0)
	l.pass(30 * time.Hour)
	l.prune(t, "last=2", 0)
	if got := l.pieces(t); !slices.Contains(got, "1-6") || !slices.Contains(got, "1-7") {
		t.Errorf("what it begins at went: %q", got)
	}
}

// A hole is no reason to remove anything else, the newest file never goes, and of a timeline that is newer than all bases nobody knows
// whether they lead there.
func TestLogsHolesAndTimelines(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 3, 4, 6)
	l.wal(t, 2, 2, 3)
	l.wal(t, 3, 1)
	l.run(t, l.pg(2, 3))
	l.run(t, l.pg(1, 4))
	l.binlog(t, 1, 3)
	l.run(t, l.maria(3))
	for range 3 {
		l.prune(t, "last=9", 0)
		l.pass(80 * time.Hour)
	}
	equal(t, "there", l.pieces(t), []string{"3:0", "3:100", "1-3", "1-4", "1-6", "2-3", "3-1"})
	l.series = "20261127T120000Z-00000002" // the log was reset
	l.binlog(t, 1, 2, 3)
	l.run(t, l.maria(2))
	for range 3 {
		l.prune(t, "last=1", 3)
		l.pass(80 * time.Hour)
	}
	// PostgreSQL's log has no base any more, so that all of it stays.
	equal(t, "there", l.pieces(t), []string{"2:0", "2:100", "3:0", "3:100", "1-3", "1-4", "1-6", "2-3", "3-1"})
}

// What this host has not signed stays, and so does a log that another prunes.
func TestLogsOfOthers(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3, 4)
	l.run(t, l.pg(1, 4))
	stranger, _, err := backup.HostKey(t.Context(), l.b.Do, t.TempDir(), "db2")
	must(t, err)
	foreign := l.k
	foreign.Sign = stranger
	_, err = foreign.Keep(t.Context(), archive.Entry{Piece: ofWAL(wal.Name(1, 0, segment), segment)}, bytes.NewReader(zeros))
	must(t, err)
	entry := filepath.Join(l.at, ofWAL(wal.Name(1, 2*segment, segment), segment).Name())
	must(t, os.WriteFile(entry, []byte("torn"), 0o600))
	other, err := os.ReadFile(filepath.Join(l.at, ofWAL(wal.Name(1, 1*segment, segment), segment).Name()))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(l.at, ofWAL(wal.Name(1, 3*segment, segment), segment).Name()), other, 0o600))
	l.prune(t, "last=1", 0)
	l.pass(80 * time.Hour)
	done := l.prune(t, "last=1", 0)
	if len(done.Left) != 1 || !strings.Contains(done.Left[0].Why, "3 pieces stay before 0/400028") || !strings.Contains(done.Left[0].Why, "not trusted") {
		t.Errorf("%+v", done.Left)
	}
	equal(t, "there", l.pieces(t), []string{"1-", "1-2", "1-3", "1-4"})
	l.wal(t, 1, 1) // once more
	file := filepath.Join(l.at, archive.BeginningName(postgrespitr.Server(7)))
	good, err := os.ReadFile(file)
	must(t, err)
	strange, err := archive.SignBeginning(archive.Beginning{Server: postgrespitr.Server(7), By: "db2", Gone: archive.Place{Key: "FF"}}, stranger)
	must(t, err)
	for what, text := range map[string][]byte{"torn": []byte("x"), "large": make([]byte, archive.MaxBeginning+1), "another's": strange} {
		must(t, os.WriteFile(file, text, 0o600))
		before := l.left(t)
		for range 2 {
			l.pass(80 * time.Hour)
			l.prune(t, "last=1", 0)
		}
		equal(t, what, l.left(t), before)
		if why := l.plan(t).Logs[0].Why; why == "" {
			t.Errorf("%s: nothing is said", what)
		}
	}
	must(t, os.WriteFile(file, good, 0o600))
	l.prune(t, "last=1", 0)
	equal(t, "there", l.pieces(t), []string{"1-", "1-2", "1-3", "1-4"})
}

// What a push that was killed left goes when it is before the beginning; what is no object of an archive stays.
func TestLogsOrphans(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3)
	l.run(t, l.pg(1, 3))
	orphan := strings.TrimSuffix(ofWAL(wal.Name(1, 1*segment, segment), segment).Name(), "entry") + "000000-0123456789abcdef.zst.age"
	late := strings.TrimSuffix(ofWAL(wal.Name(1, 3*segment, segment), segment).Name(), "entry") + "000000-0123456789abcdef.zst.age"
	mine := strings.TrimSuffix(orphan, "000000-0123456789abcdef.zst.age") + "notes.txt"
	for _, name := range []string{orphan, late, mine, "archive/1", "archive/" + postgrespitr.Server(7) + "/x"} {
		_, err := l.cal.Put(t.Context(), name, []byte("x"), store.Put{})
		must(t, err)
	}
	for range 2 {
		l.prune(t, "last=1", 0)
		l.pass(80 * time.Hour)
	}
	left := l.left(t)
	if slices.Contains(left, orphan) || !slices.Contains(left, late) || !slices.Contains(left, mine) || !slices.Contains(left, "archive/1") {
		t.Errorf("%q", left)
	}
}

// What was not shown is not marked, a dry run writes nothing, and what a brake stops keeps its log.
func TestLogsAsShown(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3, 4, 5, 6, 7, 8)
	for n := range uint64(7) {
		l.run(t, l.pg(1, n+1))
	}
	r, err := keep.Parse("last=6")
	must(t, err)
	shown, err := l.Plan(t.Context(), Options{Rules: r})
	must(t, err)
	if got := shown.Logs[0]; got.Begins != "0/200028" || got.Then.Pieces != 1 {
		t.Errorf("%+v", got)
	}
	r.Last = 2
	if _, err := l.Carry(t.Context(), shown, Options{Rules: r, AllRight: 5}); err != nil {
		t.Fatal(err)
	}
	l.pass(80 * time.Hour)
	done := l.prune(t, "last=1", 0) // too many
	if len(done.Plan.Servers[0].Brakes) == 0 {
		t.Errorf("%+v", done)
	}
	equal(t, "there", l.pieces(t), []string{"1-2", "1-3", "1-4", "1-5", "1-6", "1-7", "1-8"})
	plain := l.Store
	l.Store = &hooked{Store: plain, before: func(name string) { t.Errorf("%s is written", name) }}
	l.plan(t)
	l.Store = plain
}

// A lease, a clock, and an old try of a beginning do no harm.
func TestLogsClocks(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3)
	l.run(t, l.pg(1, 3))
	l.pass(365 * 24 * time.Hour) // the clock is a year ahead
	l.prune(t, "last=1", 0)
	l.pass(-365 * 24 * time.Hour)
	// It is set right. What was written then is from the future: nothing goes while it is.
	for _, name := range []string{archive.BeginningName(postgrespitr.Server(7)), manifest.LeaseName} {
		l.cal.at[name] = l.Now() // as a store would say that took the object again
	}
	l.prune(t, "last=1", 0)
	equal(t, "there", l.pieces(t), []string{"1-1", "1-2", "1-3"})
	l.pass(73 * time.Hour)
	l.prune(t, "last=1", 0)
	equal(t, "there", l.pieces(t), []string{"1-3"})
}

// A base that was marked, taken back and marked again can be taken back for as long as any, although what it needs was marked
// before.
func TestLogsOfTakenBack(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3)
	old := l.run(t, l.pg(1, 2))
	l.run(t, l.pg(1, 3))
	l.prune(t, "last=1", 0)
	l.pass(24 * time.Hour)
	must(t, l.TakeBack(t.Context(), old))
	l.pass(24 * time.Hour)
	l.prune(t, "last=1", 0)
	l.pass(30 * time.Hour) // 78 hours after the first
	l.prune(t, "last=1", 0)
	equal(t, "there", l.pieces(t), []string{"1-2", "1-3"})
	must(t, l.TakeBack(t.Context(), old))
	l.pass(80 * time.Hour)
	l.prune(t, "last=2", 0)
	equal(t, "there", l.pieces(t), []string{"1-2", "1-3"})
}

// A base of MariaDB does not say whose it is: it keeps what is behind the first file of its name, whoever's that is, and
// nothing goes of a log that does not have it.
func TestLogsOfSeveral(t *testing.T) {
	l := newLogged(t)
	l.binlog(t, 1, 2, 3)
	for n := 5; n < 8; n++ {
		p := ofBinlog(l.series, n, 0, 100)
		p.Server = "other"
		l.keep(t, p)
	}
	l.run(t, l.maria(6))
	for range 2 {
		l.prune(t, "last=1", 0)
		l.pass(80 * time.Hour)
	}
	equal(t, "there", l.pieces(t), []string{"1:0", "1:100", "2:0", "2:100", "3:0", "3:100", "binlog.000006", "binlog.000007"})
}

// locking is a store that keeps one object locked.
type locking struct {
	store.Store
	name  string
	until time.Time
}

func (l locking) Locks(context.Context) (store.Locks, error) { return store.Locks{Can: true}, nil }

func (l locking) Until(_ context.Context, name string) (time.Time, error) {
	if name == l.name {
		return l.until, nil
	}
	return time.Time{}, nil
}

func (l locking) Lock(context.Context, string, time.Time) error { return store.ErrDenied }

// What the store keeps locked stays whole, and goes when it may.
func TestLogsLocked(t *testing.T) {
	l := newLogged(t)
	l.wal(t, 1, 1, 2, 3)
	l.run(t, l.pg(1, 3))
	l.Store = locking{l.Store, ofWAL(wal.Name(1, 1*segment, segment), segment).Name(), l.Now().Add(100 * time.Hour)}
	l.prune(t, "last=1", 0)
	l.pass(80 * time.Hour)
	done := l.prune(t, "last=1", 0)
	if len(done.Left) != 1 || !strings.Contains(done.Left[0].Why, "1 piece stays before 0/300028: 000000010000000000000001: not allowed: the store keeps it locked until") {
		t.Errorf("%+v", done.Left)
	}
	equal(t, "there", l.pieces(t), []string{"1-1", "1-3"})
	l.pass(30 * time.Hour)
	l.prune(t, "last=1", 0)
	equal(t, "there", l.pieces(t), []string{"1-3"})
	if n := len(l.left(t)); n != 3 {
		t.Errorf("%d objects are left", n)
	}
}
