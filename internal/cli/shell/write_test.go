package shell

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/hint"
)

// TestForceIsAHintOnlyWhereItHelps: it makes no room on a disk that is full.
func TestForceIsAHintOnlyWhereItHelps(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ says, help string }{
		there:                              {"file already exists", "--force"},
		"/dev/full":                        {"no space left on device", ""},
		filepath.Join(there, "x"):          {"not a directory", ""},
		filepath.Dir(there):                {"is a directory", ""},
		filepath.Join(there+"-not", "any"): {"no such file or directory", ""},
	} {
		err := WriteFile(name, false, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err })
		if err == nil {
			t.Errorf("%s was written", name)
			continue
		}
		err = NotWritten("write "+name, err)
		if !strings.Contains(err.Error(), want.says) || !strings.HasPrefix(hint.Of(err), want.help) || want.help == "" && hint.Of(err) != "" {
			t.Errorf("%s: %v, with the hint %q; want %q and %q", name, err, hint.Of(err), want.says, want.help)
		}
	}
}

// What appears while a file is being written is not replaced, and what was written is not lost.
func TestWriteFileWhileAnotherAppears(t *testing.T) {
	for _, replace := range []bool{false, true} {
		dir := t.TempDir()
		name := filepath.Join(dir, "out")
		err := WriteFile(name, replace, func(w io.Writer) error {
			_, err := io.WriteString(w, "ours")
			return errors.Join(err, os.WriteFile(name, []byte("theirs"), 0o600))
		})
		text, bad := os.ReadFile(name)
		if replace {
			if err != nil || bad != nil || string(text) != "ours" {
				t.Errorf("replaced: %q, %v, %v", text, err, bad)
			}
			continue
		}
		left, _ := filepath.Glob(filepath.Join(dir, "out.*"))
		if !errors.Is(err, fs.ErrExist) || string(text) != "theirs" || len(left) != 1 || !strings.Contains(err.Error(), left[0]) {
			t.Errorf("%q, %v, left: %q", text, err, left)
		} else if ours, err := os.ReadFile(left[0]); err != nil || string(ours) != "ours" {
			t.Errorf("it holds %q, %v", ours, err)
		}
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", name); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(name, false, func(io.Writer) error { return nil }); !errors.Is(err, fs.ErrExist) {
		t.Errorf("in the place of a link that leads nowhere: %v", err)
	}
}
