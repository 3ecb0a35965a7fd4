package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// two opens two directories.
func two(t *testing.T) (from, to *Root) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, errors.Join(os.Mkdir(dir+"/from", 0o755), os.Mkdir(dir+"/to", 0o755)))
	from, err = Open(dir + "/from")
	must(t, err)
	to, err = Open(dir + "/to")
	must(t, err)
	t.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}

func TestCopyKeepsHolesAndSums(t *testing.T) {
	from, to := two(t)
	f, err := os.Create(from.Path + "/a")
	must(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("data", 700_000)), 30<<20)
	must(t, err)
	must(t, f.Truncate(64<<20+7))
	must(t, f.Close())
	list, err := from.List(t.Context(), Options{})
	must(t, err)
	sum, now, err := to.Copy(t.Context(), from, list[1])
	must(t, err)
	text, err := os.ReadFile(to.Path + "/a")
	must(t, err)
	if want := sha256.Sum256(text); sum != hex.EncodeToString(want[:]) || now.Size != 64<<20+7 {
		t.Errorf("%s of %d bytes", sum, now.Size)
	}
	var st syscall.Stat_t
	must(t, syscall.Stat(to.Path+"/a", &st))
	if st.Blocks*512 > 8<<20 {
		t.Errorf("the copy takes %d bytes", st.Blocks*512)
	}
	original, err := os.ReadFile(from.Path + "/a")
	must(t, err)
	if string(original) != string(text) {
		t.Error("it is another file")
	}
}

// A file that was cut off meanwhile is as long as it was listed, and one that grew no longer.
func TestCopyOfAFileThatChanges(t *testing.T) {
	from, to := two(t)
	must(t, os.WriteFile(from.Path+"/a", []byte("0123456789"), 0o600))
	for _, size := range []int64{4, 20} {
		list, err := from.List(t.Context(), Options{})
		must(t, err)
		list[1].Size = size
		if _, now, err := to.Copy(t.Context(), from, list[1]); err != nil || now.Size != size {
			t.Errorf("%d: %v, %d", size, err, now.Size)
		}
	}
}

func TestNoLinkIsFollowed(t *testing.T) {
	from, to := two(t)
	outside := t.TempDir()
	must(t, os.WriteFile(outside+"/file", []byte("secret"), 0o600))
	must(t, errors.Join(os.Symlink(outside, from.Path+"/dir"), os.Symlink(outside+"/file", from.Path+"/file"), os.Symlink(outside, to.Path+"/dir"), os.Symlink(outside+"/file", to.Path+"/file")))
	for _, name := range []string{"dir/file", "file"} {
		if _, _, err := to.Copy(t.Context(), from, Entry{Name: name, Kind: 'f', Size: 6, UID: os.Getuid(), GID: os.Getgid(), Mode: 0o600}); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
	if err := to.MakeDir("dir/new"); err == nil {
		t.Error("a directory was made outside")
	}
	if err := to.Give(Entry{Name: "file", Mode: 0o777, UID: os.Getuid(), GID: os.Getgid()}); err == nil {
		t.Error("a link was given a mode")
	}
	must(t, to.Remove("dir"))
	if text, err := os.ReadFile(outside + "/file"); err != nil || string(text) != "secret" {
		t.Errorf("outside: %q, %v", text, err)
	}
	if _, err := Open(from.Path + "/dir"); err == nil {
		t.Error("a link was opened as a directory")
	}
}

func TestOddKindsAreNamed(t *testing.T) {
	from, to := two(t)
	must(t, syscall.Mkfifo(from.Path+"/pipe", 0o600))
	if _, err := from.List(t.Context(), Options{}); !errors.Is(err, errKind) || !strings.Contains(err.Error(), "/pipe") {
		t.Error(err)
	}
	if _, _, err := to.Copy(t.Context(), from, Entry{Name: "pipe", Kind: 'f'}); !errors.Is(err, errKind) {
		t.Error(err)
	}
}
