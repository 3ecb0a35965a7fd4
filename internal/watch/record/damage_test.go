package record

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// recorded makes a recording of some minutes, and gives its directory.
func recorded(t *testing.T, minutes int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir})
	feed(w, newMaker(7, 10), minutes)
	closed(t, w)
	return dir
}

func change(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, File))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedBlockIsAGap(t *testing.T) {
	for _, c := range []struct{ what, statement, want string }{
		{"its data", `UPDATE block SET data = zeroblob(length(data)) WHERE id = 2`, "the block"},
		{"its checksum", `UPDATE block SET crc = crc + 1 WHERE id = 2`, "the block"},
		{"its time", `UPDATE block SET t0 = t0 + 1000000000 WHERE id = 2`, "the block"},
		{"its columns", `UPDATE block SET schema = '1,1' WHERE id = 2`, "the block"},
		{"the columns' names", `UPDATE schema SET columns = x'00'`, "the block"},
		{"its sessions", `UPDATE session_sample SET crc = 0 WHERE block = 2`, "the sessions"},
		{"its statements", `UPDATE digest_delta SET crc = 0 WHERE block = 2`, "the statements"},
		{"what its statements lean on", `DELETE FROM digest_delta WHERE block = 1`, "the statements"},
		{"the texts of its statements", `DELETE FROM digest`, "the statements"},
		{"a picture", `UPDATE stack SET columns = x'00'`, "the picture"},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := recorded(t, 3)
			change(t, dir, c.statement)
			batches, lost := 0, ""
			for _, item := range read(t, dir, ever, later) {
				if item.Batch != nil {
					batches++
				}
				if item.Lost != nil {
					lost = item.Lost.Why
				}
			}
			if !strings.Contains(lost, c.want) {
				t.Errorf("lost: %q, want that of %s", lost, c.want)
			}
			if whole := 3 * (60*10 + 6); c.want == "the block" && batches > whole*2/3 || c.want != "the block" && batches != whole {
				t.Errorf("%d batches of %d are left", batches, whole)
			}
		})
	}
}

// TestDamagedVerdictIsAGap: the others are listed all the same.
func TestDamagedVerdictIsAGap(t *testing.T) {
	for what, statement := range map[string]string{
		"no JSON":      `UPDATE verdict SET span = x'7b22' WHERE id = 'device/saturated'`,
		"another time": `UPDATE verdict SET since = since + 1000000000 WHERE id = 'device/saturated'`,
		"another name": `UPDATE verdict SET span = (SELECT span FROM verdict WHERE id = 'log/flush') WHERE id = 'device/saturated'`,
	} {
		dir := filepath.Join(t.TempDir(), "watch")
		w := opened(t, Options{Dir: dir})
		server := stack.Ref{Kind: "mysql", Name: "3306"}
		w.Spans([]watch.Span{{ID: "device/saturated", Server: server, From: sunday, To: sunday.Add(30 * time.Second)}, {ID: "log/flush", Server: server, From: sunday}})
		feed(w, newMaker(1, 1), 1)
		closed(t, w)
		change(t, dir, statement)
		r, err := OpenReader(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		spans, lost, err := r.Spans(t.Context(), ever, later)
		r.Close()
		if err != nil || len(spans) != 1 || spans[0].ID != "log/flush" {
			t.Errorf("%s: %v, %v", what, spans, err)
		}
		if len(lost) != 1 || lost[0].Why != "the verdict device/saturated about mysql:3306 is damaged" || !lost[0].Until.Equal(sunday.Add(30*time.Second)) || lost[0].Hint == "" {
			t.Errorf("%s: lost %+v", what, lost)
		}
	}
}

func TestTruncatedFileIsAClearErrorOrAGap(t *testing.T) {
	dir := recorded(t, 4)
	name := filepath.Join(dir, File)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for size := 0; size < len(whole); size += len(whole)/29 + 1 {
		if err := os.WriteFile(name, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := OpenReader(t.Context(), dir)
		if err == nil {
			err = r.Each(t.Context(), ever, later, func(Item) error { return nil })
			r.Close()
		}
		if err == nil {
			t.Errorf("cut to %d of %d bytes, it is read as if it were whole", size, len(whole))
		} else if hint.Of(err) == "" {
			t.Errorf("cut to %d bytes: %v, and no hint", size, err)
		}
	}
}

func TestNewerFormIsRefusedByName(t *testing.T) {
	dir := recorded(t, 1)
	change(t, dir, `UPDATE meta SET value = '3' WHERE key = 'form'`)
	change(t, dir, `UPDATE meta SET value = '9.9' WHERE key = 'plumb'`)
	_, err := OpenReader(t.Context(), dir)
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "format 3") || !strings.Contains(err.Error(), "9.9") {
		t.Errorf("read: %v", err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrNewer) {
		t.Errorf("write: %v", err)
	}
}

func TestForeignTablesAreRefused(t *testing.T) {
	dir := recorded(t, 1)
	change(t, dir, `CREATE VIEW trap AS SELECT 1`)
	if _, err := OpenReader(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "tables") {
		t.Errorf("a view that somebody added: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(t.Context(), other); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no recording: %v", err)
	}
	change(t, other, `CREATE TABLE mine (n INTEGER)`)
	for _, open := range []func() error{
		func() error { _, err := OpenReader(t.Context(), other); return err },
		func() error { _, err := Open(t.Context(), Options{Dir: other}); return err },
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), "not a recording") {
			t.Errorf("somebody else's database: %v", err)
		}
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir})
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Errorf("the second: %v", err)
	}
	closed(t, w)
	closed(t, opened(t, Options{Dir: dir}))
}

func TestLinksAndForeignDirectoriesAreRefused(t *testing.T) {
	for _, c := range []struct {
		what string
		make func(t *testing.T, dir string)
		want string
	}{
		{"somebody else's link in place of the directory", func(t *testing.T, dir string) {
			if os.Getuid() != 0 {
				t.Skip("only root can give a link to somebody else")
			}
			must0(t, os.Symlink(t.TempDir(), dir))
			must0(t, os.Lchown(dir, 65534, 65534))
		}, "belongs to user 65534"},
		{"a directory below somebody else's", func(t *testing.T, dir string) {
			if os.Getuid() != 0 {
				t.Skip("only root can give a directory to somebody else")
			}
			must0(t, os.Chown(filepath.Dir(dir), 65534, 65534))
			t.Cleanup(func() { must0(t, os.Chown(filepath.Dir(dir), 0, 0)) })
		}, "belongs to user 65534"},
		{"a directory below one that others can write to", func(t *testing.T, dir string) { must0(t, os.Chmod(filepath.Dir(dir), 0o777)) }, "can be written to by others"},
		{"a directory that others enter", func(t *testing.T, dir string) { must0(t, os.Mkdir(dir, 0o700)); must0(t, os.Chmod(dir, 0o755)) }, "others"},
		{"somebody else's directory", func(t *testing.T, dir string) {
			if os.Getuid() != 0 {
				t.Skip("only root can give a directory to somebody else")
			}
			must0(t, os.Mkdir(dir, 0o700))
			must0(t, os.Chown(dir, 65534, 65534))
		}, "belongs to user 65534"},
		{"a link in place of the file", func(t *testing.T, dir string) {
			must0(t, os.Mkdir(dir, 0o700))
			must0(t, os.Symlink("/etc/passwd", filepath.Join(dir, File)))
		}, "a link"},
		{"a link in place of the log", func(t *testing.T, dir string) {
			must0(t, os.Mkdir(dir, 0o700))
			must0(t, os.Symlink("/nonexistent/log", filepath.Join(dir, File+"-wal")))
		}, "a link"},
		{"a link in place of the lock", func(t *testing.T, dir string) {
			must0(t, os.Mkdir(dir, 0o700))
			must0(t, os.Symlink("/nonexistent/lock", filepath.Join(dir, "lock")))
		}, "lock"},
		{"a file in place of the directory", func(t *testing.T, dir string) { must0(t, os.WriteFile(dir, nil, 0o600)) }, "something else"},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "watch")
			c.make(t, dir)
			w, err := Open(t.Context(), Options{Dir: dir})
			if err == nil {
				_ = w.Close(context.Background())
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want something about %q", err, c.want)
			}
		})
	}
}

// TestOwnLinkToTheDirectory: where root or the recorder's user moved the recording to a larger disk,
// it is where the link leads.
func TestOwnLinkToTheDirectory(t *testing.T) {
	elsewhere, link := filepath.Join(t.TempDir(), "large", "watch"), filepath.Join(t.TempDir(), "watch")
	must0(t, os.Symlink(elsewhere, link)) // to what is not there yet
	closed(t, opened(t, Options{Dir: link}))
	if _, err := os.Lstat(filepath.Join(elsewhere, File)); err != nil {
		t.Error(err)
	}
	for dir, want := range map[string]os.FileMode{elsewhere: 0o700, filepath.Dir(elsewhere): 0o755} {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", dir, st.Mode(), err)
		}
	}
}

func must0(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A disk that hangs stops nobody: what it does not take within ten minutes is
// lost, and that is recorded when it answers again. The hang is made by the
// question for room, which the writing goroutine asks; TestFrozenFilesystem has
// a real one.
func TestHungDiskNeverStopsSampling(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	hang := make(chan struct{})
	w := opened(t, Options{Dir: dir, Room: func() (int64, int64, error) { <-hang; return 50, 100, nil }})
	m := newMaker(8, 10)
	slowest := time.Duration(0)
	for range 30 * 60 {
		start := time.Now()
		for _, b := range m.second() {
			w.Batch(b)
		}
		slowest = max(slowest, time.Since(start))
		for len(w.jobs) > mostWaiting/2 {
			time.Sleep(time.Millisecond)
		}
	}
	if slowest > 5*time.Second {
		t.Errorf("a second of batches took %s to hand over", slowest)
	}
	if n := w.queue.waiting(); n > mostWaiting {
		t.Errorf("%d minutes wait in memory", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.Close(ctx); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("closed with %v", err)
	}
	close(hang)
	<-w.written
	_ = w.db.Close()
	lost := time.Duration(0)
	for _, item := range read(t, dir, ever, later) {
		if item.Lost != nil {
			lost += item.Lost.Until.Sub(item.Lost.Since)
		}
	}
	if lost < 18*time.Minute || lost > 21*time.Minute {
		t.Errorf("%s of 30 minutes are noted as lost, and 10 were kept", lost)
	}
}

func TestFullDiskIsSaidAndRecordingGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	free := make(chan int64, 1)
	free <- 4
	said := make(chan string, 100)
	w := opened(t, Options{Dir: dir, again: 10 * time.Millisecond, Say: func(s string) { said <- s }, Room: func() (int64, int64, error) { n := <-free; free <- n; return n, 100, nil }})
	want := feed(w, newMaker(8, 10), 2)
	if got := <-said; !strings.Contains(got, "4 bytes of 100 bytes free") || !strings.Contains(got, "5 %") {
		t.Errorf("it says %q", got)
	}
	<-free
	free <- 6
	select {
	case got := <-said:
		if got != "recording continues" {
			t.Errorf("it says %q", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not go on")
	}
	closed(t, w)
	if got := read(t, dir, ever, later); len(got) != len(want) {
		t.Errorf("%d of %d are there: what waited in memory is lost", len(got), len(want))
	}
}
