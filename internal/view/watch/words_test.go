package watch

import "testing"

func TestFactsThatRuleAVerdictOut(t *testing.T) {
	for why, want := range map[string]string{
		"":                         "",
		"db.in_flight_min = 0":     "in flight min 0",
		"db.share_lock_low absent": "",
		"db.share_lock_low absent, db.queue = 0.8": "queue 0.8",
	} {
		if got := inWords(why); got != want {
			t.Errorf("%q reads %q, want %q", why, got, want)
		}
	}
}
