package shell

import (
	"testing"

	"plumb/internal/hint"
)

// TestNoteOfAList: what root made is not in the list of another user, and who asks is told so.
func TestNoteOfAList(t *testing.T) {
	for uid, want := range map[int]bool{0: false, 1000: true} {
		if got := (Place{}).note(uid); (got != "") != want {
			t.Errorf("user %d: %q", uid, got)
		}
		if got := (Place{State: "/srv/books"}).note(uid); got != "" {
			t.Errorf("user %d, of a directory that was named: %q", uid, got)
		}
	}
}

func TestWhereThingsAreKept(t *testing.T) {
	k := Kept{Of: "forecasts", Flag: "kept", Root: "/var/lib/plumb/forecasts", Own: "plumb/forecasts"}
	for _, c := range []struct {
		uid               int
		home, state, want string
	}{
		{0, "", "", "/var/lib/plumb/forecasts"},
		{0, "/root", "/root/state", "/var/lib/plumb/forecasts"},
		{1000, "/home/dba", "", "/home/dba/.local/state/plumb/forecasts"},
		{1000, "/home/dba", "/srv/state", "/srv/state/plumb/forecasts"},
		{1000, "", "/srv/state", "/srv/state/plumb/forecasts"},
		{1000, "", "state", ""},
		{1000, "", "", ""},
	} {
		t.Setenv("HOME", c.home)
		t.Setenv("XDG_STATE_HOME", c.state)
		got, err := k.usual(c.uid)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
		if err != nil && hint.Of(err) != "--kept DIR names one" {
			t.Errorf("%+v: the hint is %q, and names another flag", c, hint.Of(err))
		}
	}
	if got, err := k.In("/elsewhere/"); got != "/elsewhere" || err != nil {
		t.Errorf("what was named: %q, %v", got, err)
	}
}
