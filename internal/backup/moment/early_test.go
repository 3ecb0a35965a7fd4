package moment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
	"plumb/internal/protect/replay"
)

// late is a product whose log says that every moment comes before the base.
type late struct{ logged }

func (late) Plan(context.Context, archive.Shelf, manifest.Manifest, Asked) (Way, error) {
	return Way{}, BeforeBase(errors.New("it is before the base is whole"), "late")
}

// What the log says by the server's clock, and a manifest by that of another host, can differ: nobody is sent to the backup that he named.
func TestEarlyByAnotherClock(t *testing.T) {
	h := newHost(t)
	data := t.TempDir()
	first := h.base(t, data)
	to := Asked{To: replay.Target{Text: "then", Time: first.Ended.Add(time.Hour)}}
	r := h.restore(t, h.Store, late{})
	if _, _, err := r.Plan(t.Context(), first, to); err == nil || !strings.Contains(hint.Of(err), "restore to a later moment") {
		t.Errorf("the only one: %v, hint %q", err, hint.Of(err))
	}
	second := h.base(t, data)
	if _, _, err := r.Plan(t.Context(), second, to); err == nil || !strings.Contains(hint.Of(err), "backup "+first.ID+" was whole before it") {
		t.Errorf("the second of two: %v, hint %q", err, hint.Of(err))
	}
}
