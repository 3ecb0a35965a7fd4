package record

import (
	"path/filepath"
	"testing"
	"time"
)

// TestSpanIsOfWhatIsRecorded: blocks of the coarser tiers begin with the hour, blocks of seconds with the minute, and the recording began later.
func TestSpanIsOfWhatIsRecorded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	m := newMaker(3, 10)
	m.at = m.at.Add(41*time.Minute + 20*time.Second)
	from := m.at
	w := opened(t, Options{Dir: dir, Now: func() time.Time { return m.at }})
	feed(w, m, 25) // so long that the coarser tiers have blocks
	closed(t, w)
	r, err := OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first, last, err := r.Span(t.Context())
	if err != nil || first.Before(from) || first.After(from.Add(2*time.Second)) || last.Sub(from) < 24*time.Minute {
		t.Errorf("from %s to %s, want from %s, %v", first, last, from, err)
	}
	if _, err := r.db.ExecContext(t.Context(), `DELETE FROM block WHERE tier = 1 AND t0 < ?`, from.Add(20*time.Minute).UnixNano()); err == nil {
		t.Error("a reader can write")
	}
}
