package dir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/backup/store"
	"plumb/internal/backup/store/storetest"
	"plumb/internal/hint"
)

func open(t *testing.T) (*Dir, string) {
	t.Helper()
	at := t.TempDir()
	d, err := Open(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, at
}

// The names of the directories in which an object lies are on the disk before it is said to be kept, once each: what a power cut takes of
// them it takes with all that is in them. One whose name could not be written is not taken for one that lasts.
func TestNamesLast(t *testing.T) {
	d, _ := open(t)
	var synced []string
	bad := errors.New("the disk fails")
	d.lasting = func(dir string) error {
		synced = append(synced, dir)
		if len(synced) == 3 {
			return bad
		}
		return nil
	}
	put := func(name string, want ...string) {
		t.Helper()
		synced = nil
		_, err := d.Put(t.Context(), name, []byte("x"), store.Put{})
		if errors.Is(err, bad) != (len(want) == 3) || !slices.Equal(synced, want) {
			t.Errorf("%s: %q, %v", name, synced, err)
		}
	}
	put("archive/s/f/entry", ".", "archive", "archive/s")
	put("archive/s/f/entry", "archive/s", "archive/s/f")
	put("archive/s/f/other", "archive/s/f")
	put("owner", ".")
}

func TestStore(t *testing.T) {
	d, at := open(t)
	storetest.Run(t, d)
	left, err := filepath.Glob(at + "/**/" + aside + "*")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What somebody put below the directory leads nowhere else, is not waited for and is not
// taken for an object.
func TestStrangeFiles(t *testing.T) {
	d, at := open(t)
	outside := filepath.Join(t.TempDir(), "secret")
	for _, err := range []error{
		os.WriteFile(outside, []byte("secret"), 0o600),
		os.Symlink(outside, at+"/link"),
		os.Symlink(filepath.Dir(outside), at+"/folder"),
		syscall.Mkfifo(at+"/pipe", 0o600),
		os.Mkdir(at+"/directory", 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"link", "folder/secret", "pipe", "directory"} {
		if got, _, err := d.Get(t.Context(), name, make([]byte, 100)); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := d.Put(t.Context(), "pipe", []byte("x"), store.Put{Was: "tag"}); err == nil { // compared before it is replaced
		t.Error("written over a pipe that was to be an object")
	}
	if _, err := d.Put(t.Context(), "folder/new", []byte("x"), store.Put{}); err == nil {
		t.Error("written outside")
	}
	if err := d.Delete(t.Context(), "folder/secret"); err == nil {
		t.Error("removed outside")
	}
	err := d.List(t.Context(), "", func(i store.Info) error { return errors.New(i.Name) })
	if err != nil {
		t.Errorf("listed: %v", err)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "secret" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestFull(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "not mounted")); err == nil {
		t.Error("a directory that is not there is opened")
	}
	if err := said("keep", "a", &os.PathError{Op: "write", Err: syscall.ENOSPC}); !errors.Is(err, store.ErrFull) {
		t.Error(err)
	}
}

// What a writer left that was killed goes with the last object beside it; what another is just writing stays.
func TestKilledWriters(t *testing.T) {
	d, at := open(t)
	for left, age := range map[string]time.Duration{"old": 2 * abandoned, "new": 0} {
		if _, err := d.Put(t.Context(), left+"/b/object", []byte("x"), store.Put{}); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(at, left, "b", aside+"0123456789abcdef")
		when := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(file, []byte("half"), 0o600), os.Chtimes(file, when, when)); err != nil {
			t.Fatal(err)
		}
		if err := d.Delete(t.Context(), left+"/b/object"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(at, left)); (err == nil) != (left == "new") {
			t.Errorf("%s: %v", left, err)
		}
	}
}

// A disk without hard links is told as one, and not as one that may not be written to.
func TestNoLinks(t *testing.T) {
	for no, is := range map[error]bool{syscall.EPERM: true, syscall.EOPNOTSUPP: true, syscall.ENOSYS: true, syscall.EEXIST: false, syscall.EACCES: false} {
		err := said("keep", "a", unlinked(&os.LinkError{Op: "linkat", Old: "a", New: "b", Err: no}))
		if strings.Contains(err.Error(), "no hard links") != is || is == (hint.Of(err) == "") || is && errors.Is(err, store.ErrDenied) {
			t.Errorf("%v: %v, hint: %s", no, err, hint.Of(err))
		}
	}
}

// Who keeps the lock keeps nobody waiting for ever.
func TestLockIsHeld(t *testing.T) {
	defer func(was time.Duration) { lockTime = was }(lockTime)
	lockTime = 50 * time.Millisecond
	d, at := open(t)
	tag, err := d.Put(t.Context(), "a", []byte("x"), store.Put{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(at, aside+"lock"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	_, err = d.Put(t.Context(), "a", []byte("y"), store.Put{Was: tag})
	if _, again := errors.AsType[*store.Trouble](err); !again {
		t.Errorf("%v", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if _, err = d.Put(t.Context(), "a", []byte("y"), store.Put{Was: tag}); err != nil {
		t.Error(err)
	}
}

// BenchmarkGet reads an object of the usual size, from the page cache.
func BenchmarkGet(b *testing.B) {
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	const size = 16 << 20
	if _, err := d.Put(b.Context(), "a", make([]byte, size), store.Put{}); err != nil {
		b.Fatal(err)
	}
	into := make([]byte, size)
	b.SetBytes(size)
	for b.Loop() {
		if _, _, err := d.Get(b.Context(), "a", into); err != nil {
			b.Fatal(err)
		}
	}
}
