package taped

import (
	"testing"
	"time"

	"plumb/internal/host"
)

// A reader that is kept for months does not say for ever that it looked when it was made; one look has one time.
func TestAboutIsOfTheLook(t *testing.T) {
	l := host.NewLive(host.LiveOptions{})
	defer l.Close()
	made := l.About().Taken
	for !time.Now().After(made.Add(2 * time.Millisecond)) {
		time.Sleep(time.Millisecond)
	}
	rec := NewRecorder(l)
	look := host.NewCached(rec)
	of := look.About().Taken
	if !of.After(made) {
		t.Errorf("a look at %s says that it was at %s", time.Now(), of)
	}
	for !time.Now().After(of.Add(2 * time.Millisecond)) {
		time.Sleep(time.Millisecond)
	}
	if again := look.About().Taken; !again.Equal(of) || !rec.About().Taken.Equal(of) {
		t.Errorf("one look is at %s and at %s", of, again)
	}
	if later := host.NewCached(l).About().Taken; !later.After(of) {
		t.Errorf("the next look is at %s too", later)
	}
}
