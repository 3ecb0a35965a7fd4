package change

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host"
)

// What root makes lies where nobody else can put a link in its place. What it gives away does not lie in a sticky directory
// either, where its new owner could.
func TestRootsAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give files away")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := os.Symlink("ours", at("link"))
	for name, mode := range map[string]os.FileMode{"ours": 0o755, "theirs": 0o755, "theirs/ours": 0o755, "group": 0o775, "all": 0o777, "sticky": os.ModeSticky | 0o777, "sticky/ours": 0o755} {
		err = errors.Join(err, os.MkdirAll(at(name), 0o755), os.Chmod(at(name), mode))
	}
	if err := errors.Join(err, os.Chown(at("theirs"), 65534, -1), os.WriteFile(at("file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	h := host.NewLive(host.LiveOptions{})
	defer h.Close()
	for name, want := range map[string][2]string{ // of what stays root's, and of what is given away
		"ours": {}, "sticky/ours": {},
		"theirs":      {"theirs belongs to user 65534", "theirs belongs to user 65534"},
		"theirs/ours": {"theirs belongs to user 65534", "theirs belongs to user 65534"},
		"group":       {"group is writable by group 0", "group is writable by group 0"},
		"all":         {"is writable by everybody", "is writable by everybody"},
		"sticky":      {"", "users other than root can write"},
		"link":        {"is not a directory, or is a link", "is not a directory, or is a link"},
		"file":        {"is not a directory, or is a link", "is not a directory, or is a link"},
	} {
		for i, err := range []error{RootsAlone(t.Context(), h, at(name)), staysInPlace(t.Context(), h, at(name))} {
			_, refused := errors.AsType[*Refusal](err)
			if refused != (want[i] != "") || err != nil && !strings.Contains(err.Error(), want[i]) {
				t.Errorf("%s: %v, want %q", name, err, want[i])
			}
		}
	}
}
