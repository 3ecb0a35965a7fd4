package scratch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names() []string { return []string{"test_file.0", "test_file.1"} }

func makeSet(t *testing.T) *Set {
	t.Helper()
	s, err := Make(t.TempDir(), Load, Manifest{Purpose: "fileio", Seed: 7}, names())
	ok(t, err)
	return s
}

func TestMakeOpenRemove(t *testing.T) {
	s := makeSet(t)
	f, err := s.File(1, Flags{})
	ok(t, err)
	data := bytes.Repeat([]byte("plumb"), 1000)
	ok(t, f.Preallocate(8000))
	ok(t, f.WriteAt(data, 100))
	got := make([]byte, len(data))
	ok(t, f.ReadAt(got, 100))
	if !bytes.Equal(got, data) {
		t.Error("read something else than was written")
	}
	if err := f.ReadAt(got, 4000); err == nil {
		t.Error("reading beyond the end is no error")
	}
	ok(t, errors.Join(f.Sync(), f.Datasync(), f.DropCache(), f.Close()))
	s.Manifest.Filled = true
	ok(t, s.Save())
	again, err := Open(s.Dir, Load)
	ok(t, err)
	if !again.Manifest.Filled || again.Manifest.Seed != 7 || len(again.Manifest.Files) != 2 {
		t.Errorf("%+v", again.Manifest)
	}
	ok(t, again.Remove())
	if left, err := os.ReadDir(s.Dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
	if _, err := Open(s.Dir, Load); !errors.Is(err, ErrNoSet) {
		t.Errorf("after removing: %v", err)
	}
}

// What was there is not overwritten, and what was made beside it is taken
// back.
func TestForeignFilesStay(t *testing.T) {
	for _, name := range []string{"test_file.1", Load} {
		dir := t.TempDir()
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte("precious"), 0o600))
		if _, err := Make(dir, Load, Manifest{}, names()); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
		left, err := os.ReadDir(dir)
		ok(t, err)
		data, err := os.ReadFile(filepath.Join(dir, name))
		if len(left) != 1 || err != nil || string(data) != "precious" {
			t.Errorf("%s: %v, %q, %v", name, left, data, err)
		}
		if _, err := Open(dir, Load); err == nil {
			t.Errorf("%s: a set was opened", name)
		}
	}
}

// What a save that was killed left is in nobody's way, and a link under its
// name leads nowhere.
func TestSaveAfterAKilledSave(t *testing.T) {
	for what, leave := range map[string]func(name, precious string) error{
		"half a list": func(name, _ string) error { return os.WriteFile(name, []byte("{"), 0o600) },
		"link":        func(name, precious string) error { return os.Symlink(precious, name) },
	} {
		s, precious := makeSet(t), filepath.Join(t.TempDir(), "precious")
		ok(t, os.WriteFile(precious, []byte("precious"), 0o600))
		for range 2 {
			ok(t, leave(filepath.Join(s.Dir, Load+".new"), precious))
			s.Manifest.Filled = true
			if err := s.Save(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		ok(t, leave(filepath.Join(s.Dir, Load+".new"), precious))
		ok(t, s.Remove())
		if left, err := os.ReadDir(s.Dir); err != nil || len(left) != 0 {
			t.Errorf("%s: left %v %v", what, left, err)
		}
		if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
			t.Errorf("%s: %q %v", what, text, err)
		}
	}
}

// A test file that was replaced is neither opened nor removed, whatever
// stands in its place.
func TestReplacedFilesAreRefused(t *testing.T) {
	for what, replace := range map[string]func(path, precious string) error{
		"link":      func(path, precious string) error { return errors.Join(os.Remove(path), os.Symlink(precious, path)) },
		"hard link": func(path, precious string) error { return errors.Join(os.Remove(path), os.Link(precious, path)) },
		"other":     func(path, precious string) error { return os.Rename(precious, path) },
		"directory": func(path, _ string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"two names": func(path, precious string) error { return os.Link(path, precious+"2") },
	} {
		s := makeSet(t)
		precious := filepath.Join(s.Dir, "precious")
		ok(t, os.WriteFile(precious, []byte("precious"), 0o600))
		ok(t, replace(filepath.Join(s.Dir, "test_file.0"), precious))
		if f, err := s.File(0, Flags{}); err == nil {
			t.Errorf("%s: opened", what)
			_ = f.Close()
		}
		if err := s.Remove(); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := os.Lstat(filepath.Join(s.Dir, "test_file.0")); err != nil {
			t.Errorf("%s: removed: %v", what, err)
		}
		if _, err := os.Lstat(filepath.Join(s.Dir, Load)); err != nil {
			t.Errorf("%s: the list is gone: %v", what, err)
		}
	}
}

func TestListsOfOthersAreRefused(t *testing.T) {
	for _, text := range []string{
		``, `{}`, `{"maker":"me"}`, `[`,
		`{"maker":"plumb load","files":[{"name":"../etc/passwd","inode":3}]}`,
		`{"maker":"plumb load","files":[{"name":"/etc/passwd","inode":3}]}`,
		`{"maker":"plumb load","files":[{"name":"plumb-load.json","inode":3}]}`,
		`{"maker":"plumb load","files":[{"name":"test_file.0"}]}`,
		`{"maker":"plumb load","compressible":7}`,
	} {
		if _, err := parseManifest([]byte(text)); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", text, err)
		}
	}
	dir := t.TempDir()
	target := filepath.Join(t.TempDir(), "list")
	ok(t, os.WriteFile(target, Manifest{}.encode(), 0o600))
	ok(t, os.Symlink(target, filepath.Join(dir, Load)))
	if _, err := Open(dir, Load); err == nil {
		t.Error("a list was read through a link")
	}
}

func TestWhere(t *testing.T) {
	p, err := Where(t.TempDir())
	ok(t, err)
	if p.Type == "" || p.Total < p.Free || p.Total <= 0 || len(p.Disks) == 0 && p.Doubt == "" {
		t.Errorf("%+v", p)
	}
	for _, d := range p.Disks {
		if _, err := d.Count(); err != nil {
			t.Error(err)
		}
	}
	if err := Fits(t.TempDir(), 1<<60); !errors.Is(err, ErrFull) {
		t.Errorf("an exbibyte: %v", err)
	}
	if p, err := Where("/dev/shm"); err == nil && p.Type == "tmpfs" && !strings.Contains(p.Doubt, "memory") {
		t.Errorf("tmpfs: %+v", p)
	}
}

const mountinfo = `23 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 23 0:25 / /mnt/my\040data rw - btrfs /dev/loop3 rw,space_cache=v2
31 23 0:26 / /mnt rw shared:1 - tmpfs tmpfs rw
`

func TestParseMountSource(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/dev/vda", "/mnt/my data/x": "/dev/loop3", "/mnt/my": "tmpfs", "/mnt": "tmpfs", "/mntx": "/dev/vda",
	} {
		if got := parseMountSource([]byte(mountinfo), path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(mountinfo), "/mnt/x")
	f.Add([]byte("rchar: 5\nread_bytes: 4096\nwrite_bytes: 0\n"), "")
	f.Add(Manifest{Files: []Entry{{"test_file.0", 4}}}.encode(), "")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		parseMountSource(data, name)
		if n, found := parseProcIO(data); found && n < 0 {
			t.Error(n)
		}
		if m, err := parseManifest(data); err == nil {
			for _, e := range m.Files {
				if strings.ContainsAny(e.Name, "/\x00") || e.Name == ".." {
					t.Errorf("a file named %q", e.Name)
				}
			}
		}
	})
}
