package driven

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
)

// A directory that had backups is written to again while it has any of them, whatever it is called; one that is empty may be where a
// disk is not mounted.
func TestStoreThatHadBackups(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "back[ups]*")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	was := Set{URL: "file://" + strings.ReplaceAll(dir, "[", "%5B")}
	was.Server.UID, was.Server.GID = os.Getuid(), os.Getgid()
	u := Setup{Do: hosttest.LiveDoer(t), Was: &was}
	if _, err := u.store(t.Context(), was); err == nil || !strings.Contains(err.Error(), "is empty now") {
		t.Errorf("it is empty: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "archive"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if acts, err := u.store(t.Context(), was); err != nil || len(acts) != 0 {
		t.Errorf("%+v, %v", acts, err)
	}
}
