package backup

import (
	"testing"
	"time"

	"plumb/internal/backup/store"
)

// TestTheNewestIsTheLastMade has two backups of one second, a clock that was set back, and a name of the
// year 9000, which somebody put there who may write to the store.
func TestTheNewestIsTheLastMade(t *testing.T) {
	w := newWorld(t)
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	_, err := w.Store.Put(t.Context(), "backups/90000101T000000Z-abcd1234/manifest", []byte("anything"), store.Put{})
	if err != nil {
		t.Fatal(err)
	}
	for _, back := range []time.Duration{0, 0, 0, time.Hour, 0} {
		at := now.Add(-back)
		w.Now = func() time.Time { return at }
		res, err := w.Run(t.Context(), command("echo "+time.Now().String()))
		if err != nil {
			t.Fatal(err)
		}
		last, err := w.vault(t).Find(t.Context(), "latest", "")
		if err != nil || last.ID != res.ID {
			t.Errorf("the newest is %s, and %s was made last, %v", last.ID, res.ID, err)
		}
	}
	// Of several places each counts.
	first, second := w.Store, newWorld(t).Store
	w.Store = second
	w.Also = []store.Store{first}
	res, err := w.Run(t.Context(), command("echo both"))
	if last, bad := w.in(first).vault(t).Find(t.Context(), "latest", ""); err != nil || bad != nil || last.ID != res.ID {
		t.Errorf("the newest is %s, and %s was made last, %v, %v", last.ID, res.ID, err, bad)
	}
}

// TestTheNewestIsNotStillToCome has a backup that was made while the clock was a month ahead: those that are made since are
// newer, and it is told.
func TestTheNewestIsNotStillToCome(t *testing.T) {
	w := newWorld(t)
	run := func(at time.Time) string {
		w.Now = func() time.Time { return at }
		res, err := w.Run(t.Context(), command("echo "+at.String()))
		if err != nil {
			t.Fatal(err)
		}
		return res.ID
	}
	wrong := run(time.Now().Add(30 * 24 * time.Hour))
	v := w.vault(t)
	var doubted []string
	v.Doubt = func(f Found) { doubted = append(doubted, f.ID) }
	if last, err := v.Find(t.Context(), "", ""); err != nil || last.ID != wrong || len(doubted) > 0 {
		t.Errorf("there is no other: %s, %v, %v", last.ID, doubted, err)
	}
	right := run(time.Now())
	if last, err := v.Find(t.Context(), "", ""); err != nil || last.ID != right || len(doubted) != 1 || doubted[0] != wrong {
		t.Errorf("%s and not %s, %v, %v", last.ID, right, doubted, err)
	}
}
