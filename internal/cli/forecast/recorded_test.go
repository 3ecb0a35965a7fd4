package forecast

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch/record"
)

// TestARecordingIsForecast records some readings a day for three weeks, in two
// of which the machine was down, and finds each day as it ended.
func TestARecordingIsForecast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	now := start
	db, pool, filesystem := stack.Ref{Kind: "mysql", Name: "3306"}, stack.Ref{Kind: "pool", Name: "tank"}, stack.Ref{Kind: "filesystem", Name: "/data"}
	version := "10.6.1"
	for day := range 21 {
		if day == 5 || day == 6 {
			continue
		}
		if day == 15 {
			version = "10.11.14"
		}
		// Closed each day: what comes faster than it is written is lost, and here three weeks come at once.
		now = start.AddDate(0, 0, day)
		w, err := record.Open(t.Context(), record.Options{Dir: dir, Plumb: "test", Host: "db1", Now: func() time.Time { return now },
			Room: func() (int64, int64, error) { return 1 << 40, 1 << 40, nil }, Counter: func(stack.Ref, string) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		for hour := 20; hour < 24; hour++ {
			now = start.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour)
			s := &stack.Stack{TakenAt: now}
			server := stack.NewThing(db.Kind, db.Name)
			server.Set("version", stack.Text(version), "made")
			server.Set("binlog_expire_logs_seconds", stack.Int(int64(86400*(1+day/12))), "made")
			s.Things = append(s.Things, server)
			s.Roles = placed(db, filesystem)
			w.Picture(now, s)
			b := series.Batch{Source: "space", Every: time.Minute, At: now}
			b.Set(db, "space_data", float64(1e9+1e6*(24*day+hour)))
			b.Set(db, "space_binlog", 5e8)
			b.Set(db, "space_data_logical", 1)
			b.Set(pool, "allocated", 1e12)
			b.Set(pool, "size", 4<<40)
			b.Set(filesystem, "free", 7e9)
			w.Batch(b)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all, err := source{dir: dir}.fromRecording(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("%d quantities, want the pool, the data and the binary log; %v", len(all), err)
	}
	if l := all[0].limit; all[0].series.Quantity.Of != "pool:tank" || l == nil || l.Bytes != 4<<40-128<<30 {
		t.Errorf("%+v, limit %+v", all[0].series.Quantity, l)
	}
	if c := all[1].changes; len(c) != 2 || c[0].What != "binlog_expire_logs_seconds 24 h became 2 days" || all[1].keeps != "it is kept as the server is set: binlog_expire_logs_seconds = 2 days" {
		t.Errorf("how long the binary log is kept: %+v, %q", c, all[1].keeps)
	}
	ownersFill(t, all[2].limit, all[1].limit)
	if !all[1].bounded || all[2].bounded {
		t.Error("the binary log is kept for a time, and data for good")
	}
	data := all[2]
	if n := len(data.series.Days); n != 19 || data.series.Unknown() != 2 {
		t.Errorf("%d days, %d unknown", n, data.series.Unknown())
	}
	if d := data.series.Days[0]; !d.Date.Equal(start) || d.Value != 1e9+1e6*23 {
		t.Errorf("the first day ended with %+v", d)
	}
	if len(data.changes) != 1 || data.changes[0].What != "version 10.6.1 became 10.11.14" {
		t.Errorf("%+v", data.changes)
	}
	asOfTheTenthDay(t, dir, start)
}

// asOfTheTenthDay reads the recording as it was then: nothing of later is known.
func asOfTheTenthDay(t *testing.T, dir string, start time.Time) {
	t.Helper()
	all, err := source{dir: dir, end: start.AddDate(0, 0, 10)}.fromRecording(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	data := all[2]
	if n := len(data.series.Days); n != 8 || data.series.Last().Value != 1e9+1e6*(24*9+23) || len(data.changes) != 0 || data.limit.Bytes != data.series.Last().Value+7e9 {
		t.Errorf("%d days, of %+v with the limit %+v and changes %+v", n, data.series.Last(), data.limit, data.changes)
	}
	_, _, err = source{dir: dir, end: start}.read(t.Context(), nil)
	if err == nil || err.Error() != "the recording has no figures on disk space before 2026-03-01" || hint.Of(err) == "" {
		t.Errorf("before the first day: %v", err)
	}
}

// placed are the roles of a server whose binary logs lie on two filesystems.
func placed(db, filesystem stack.Ref) (all []stack.Role) {
	on := func(role string, where stack.Ref) {
		all = append(all, stack.Role{DB: db, Name: role, Placement: stack.Placement{Filesystem: where}})
	}
	on("data", filesystem)
	on("binlog", filesystem)
	on("binlog", stack.Ref{Kind: "filesystem", Name: "/logs"})
	return all
}

// ownersFill looks when what a server keeps is said to be full.
func ownersFill(t *testing.T, data, binlog *space.Limit) {
	t.Helper()
	if data == nil || data.Bytes != 1e9+1e6*(24*20+23)+7e9 {
		t.Errorf("the data can take what it takes and its filesystem has left: %+v", data)
	}
	if binlog != nil {
		t.Errorf("the binary log lies on two filesystems, and is full at %+v", binlog)
	}
}

func TestNobodyElseCanPutForecasts(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := ownDirectory(dir); err == nil {
		t.Error("a directory that everybody can write to is trusted")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if _, err := ownDirectory(link); err == nil {
		t.Error("a symbolic link leads into it, and is trusted")
	}
	within := filepath.Join(dir, "plumb", "forecasts")
	if _, err := ownDirectory(within); err == nil {
		t.Error("a directory is made and trusted where everybody can rename it")
	}
	if _, err := os.Lstat(within); err == nil {
		t.Error("it is made before it is refused")
	}
	own := filepath.Join(t.TempDir(), "forecasts")
	if _, err := ownDirectory(own); err != nil {
		t.Fatal(err)
	}
	if err := keepFile(own, "20260101", []byte("[]")); err != nil {
		t.Fatal(err)
	}
	if err := private(own); err != nil {
		t.Errorf("what we keep is not trusted: %v", err)
	}
	names, err := keptNames(own)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := os.Chmod(filepath.Join(own, names[0]), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := private(own); err == nil {
		t.Error("a forecast that everybody can write is trusted")
	}
}

func TestOldForecastsGo(t *testing.T) {
	dir := t.TempDir()
	for range mostKeptFiles + 2 {
		if err := keepFile(dir, "20260101", []byte("[]")); err != nil {
			t.Fatal(err)
		}
	}
	if err := keepFile(dir, "20270101", []byte("[]")); err != nil {
		t.Fatal(err)
	}
	if err := trimKept(dir); err != nil {
		t.Fatal(err)
	}
	names, err := keptNames(dir)
	if err != nil || len(names) != mostKeptFiles || names[len(names)-1][:8] != "20270101" {
		t.Errorf("%d files, %v", len(names), err)
	}
}

// TestLargeRunsAreKept: what is kept of many things can be read, and more is refused and not lost.
func TestLargeRunsAreKept(t *testing.T) {
	results := make([]space.Result, forecast.MostKept)
	for i := range results {
		results[i].Quantity = forecast.Quantity{Of: fmt.Sprintf("dataset:tank/%d", i), Name: "used", Unit: "bytes"}
		for range 60 {
			results[i].Points = append(results[i].Points, forecast.Point{Date: morning, Value: forecast.Quantiles{1.23456789012345e14, 2.23456789012345e14, 3.23456789012345e14, 4.23456789012345e14, 5.23456789012345e14}})
		}
	}
	dir := filepath.Join(t.TempDir(), "kept")
	var out bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &out)
	if err := keepAll(&s, dir, results); err != nil {
		t.Fatal(err)
	}
	kept, err := readKept(&s, dir)
	if err != nil || len(kept) != len(results) {
		t.Errorf("%d of %d are read: %v, %s", len(kept), len(results), err, out.String())
	}
	err = keepAll(&s, dir, append(results, results[0]))
	if err == nil || !strings.Contains(hint.Of(err), "--only") {
		t.Errorf("more than can be read are kept: %v", err)
	}
}

// TestFullDaysOfARecording are found by the size as it was then.
func TestFullDaysOfARecording(t *testing.T) {
	g := gathered{of: map[series.ID]*known{}, last: map[series.ID]float64{}, facts: map[string]stack.Value{}}
	for day, free := range []float64{1e9, 0, 0, 5e9} {
		g.today = map[series.ID]forecast.Day{}
		b := series.Batch{At: morning.AddDate(0, 0, day)}
		b.Set(stack.Ref{Kind: "filesystem", Name: "/data"}, "used", 1e11)
		b.Set(stack.Ref{Kind: "filesystem", Name: "/data"}, "free", free)
		if err := g.item(record.Item{At: b.At, Batch: &b}); err != nil {
			t.Fatal(err)
		}
		g.close()
	}
	all, first := g.all(), morning.Truncate(24*time.Hour)
	if len(all) != 1 || len(all[0].full) != 2 || !all[0].full[0].Equal(first.AddDate(0, 0, 1)) || !all[0].full[1].Equal(first.AddDate(0, 0, 2)) {
		t.Errorf("%+v", all)
	}
}

// TestAServerThatIsStoppedAtMidnight is known each day all the same, also one that came later.
func TestAServerThatIsStoppedAtMidnight(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	early, late := stack.Ref{Kind: "mysql", Name: "3306"}, stack.Ref{Kind: "mysql", Name: "3307"}
	for day := range 10 {
		now := start.AddDate(0, 0, day)
		w, err := record.Open(t.Context(), record.Options{Dir: dir, Plumb: "test", Host: "db1", Now: func() time.Time { return now },
			Room: func() (int64, int64, error) { return 1 << 40, 1 << 40, nil }, Counter: func(stack.Ref, string) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		for _, minute := range []int{12 * 60, 24*60 - 2} {
			now = start.AddDate(0, 0, day).Add(time.Duration(minute) * time.Minute)
			b := series.Batch{Source: "space", Every: time.Minute, At: now}
			b.Set(stack.Ref{Kind: "filesystem", Name: "/data"}, "used", 5e9)
			if minute == 12*60 {
				b.Set(early, "space_data", 1e9)
				if day > 3 {
					b.Set(late, "space_data", 2e9)
				}
			}
			w.Batch(b)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all, err := source{dir: dir}.fromRecording(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range []int{10, 10, 6} {
		if n := len(all[i].series.Days); n != want {
			t.Errorf("%s: %d days, want %d", all[i].series.Quantity.Of, n, want)
		}
	}
}
