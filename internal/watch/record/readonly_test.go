package record

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/hint"
)

// asNobody does something with the rights to files of a user who may write nothing here.
func asNobody(t *testing.T, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		do()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Error(err)
		}
	}()
	do()
}

// TestWhatWasRecordedLastIsNotLeftOut: of a copy on a medium that cannot be written to,
// the newest minutes may be in the log, which SQLite then cannot read.
func TestWhatWasRecordedLastIsNotLeftOut(t *testing.T) {
	dir, kept := recorded(t, 1), t.TempDir()
	w := opened(t, Options{Dir: dir, Now: func() time.Time { return sunday.Add(time.Hour) }})
	feed(w, newMaker(7, 10), 3)
	log := func() int64 {
		st, err := os.Stat(filepath.Join(dir, File+"-wal"))
		if err != nil {
			return 0
		}
		return st.Size()
	}
	for log() == 0 { // until the first of these minutes is written
		time.Sleep(time.Millisecond)
	}
	for _, name := range []string{File, File + "-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		must0(t, os.WriteFile(filepath.Join(kept, name), data, 0o644))
	}
	closed(t, w)
	must0(t, os.Chmod(filepath.Dir(kept), 0o755))
	must0(t, os.Chmod(kept, 0o555))
	read := func() (err error) {
		asNobody(t, func() {
			var r *Reader
			if r, err = OpenReader(t.Context(), kept); err == nil {
				err = r.Close()
			}
		})
		return err
	}
	if err := read(); err == nil || !strings.Contains(err.Error(), File+"-wal") || !strings.Contains(hint.Of(err), "--dir") {
		t.Errorf("%v, with the hint %q", err, hint.Of(err))
	}
	must0(t, os.Chmod(kept, 0o755))
	must0(t, os.Remove(filepath.Join(kept, File+"-wal")))
	must0(t, os.Chmod(kept, 0o555))
	if err := read(); err != nil {
		t.Errorf("without a log: %v", err)
	}
	must0(t, os.Chmod(kept, 0o755)) // so that it can be removed
}
