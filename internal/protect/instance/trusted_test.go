package instance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
)

// deaf is this machine, without servers.
type deaf struct{ *host.LiveDoer }

func (deaf) Hold(context.Context, host.Target) (host.Held, error) { return nil, errors.New("not here") }

// TestPointsThatOthersCanWrite: no copy is started by what others can have written: it says which program is run, and as whom.
func TestPointsThatOthersCanWrite(t *testing.T) {
	points, copies := t.TempDir(), filepath.Join(t.TempDir(), "copies")
	if err := os.WriteFile(filepath.Join(points, "20261123T210500Z-4f3a.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(points, "20261123T210500Z-4f3a.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	d := hosttest.LiveDoer(t)
	m := Maker{Keeper: &protect.Keeper{Do: deaf{d}, Books: t.TempDir(), Store: protect.Store{Dir: points, Guard: host.Guarded}}, Dir: copies}
	_, err := m.Make(t.Context(), protect.Point{}, Options{Name: "dev"})
	if err == nil || !strings.Contains(err.Error(), "4f3a.json can be written to by others (mode 0666)") {
		t.Errorf("made with %v", err)
	}
	if _, err := os.Stat(copies); err == nil {
		t.Error("something was made for it")
	}
}
