package shell

import (
	"io"
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
