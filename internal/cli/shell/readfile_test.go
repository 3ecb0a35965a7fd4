package shell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/hint"
)

// TestReadFile: a file is given whole or not at all, and the error leaves its name to who called.
func TestReadFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(name, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		most int64
		want string
		err  error
	}{
		{name, 10, "0123456789", nil},
		{name, 9, "", ErrLarge},
		{"/dev/zero", 1 << 20, "", ErrLarge}, // would never end
		{"-", 10, "typed", nil},
		{"-", 4, "", ErrLarge},
		{name + ".gone", 10, "", fs.ErrNotExist},
	} {
		got, err := ReadFile(c.name, strings.NewReader("typed"), c.most)
		if string(got) != c.want || !errors.Is(err, c.err) || err != nil && strings.Contains(err.Error(), c.name) {
			t.Errorf("%s of at most %d bytes: %q, %v", c.name, c.most, got, err)
		}
	}
	if _, err := ReadFile("-", nil, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("where standard input is not read, - is the name of a file: %v", err)
	}
}

// TestOpenHint: whoever named a file that is not there is told what may have been meant.
func TestOpenHint(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "db1.pub"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		filepath.Join(dir, "db1.pbu"):       "did you mean db1.pub?",
		filepath.Join(dir, "anything-else"): "ls " + dir + "/ shows which files are there",
		filepath.Join(dir, "no", "db1.pub"): "there is no directory " + dir + "/no/",
		"nowhere":                           "ls . shows which files are there",
	} {
		if _, err := ReadFile(name, nil, 10); !errors.Is(err, fs.ErrNotExist) || hint.Of(err) != want || strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, with the hint %q", name, err, hint.Of(err))
		}
	}
}
