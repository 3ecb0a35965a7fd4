package watch_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"plumb/internal/host/hosttest"
	"plumb/internal/view/page"
	"plumb/internal/view/viewtest"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
)

// TestBoardsHoldNothingThatDrives: every string of a board is plain, whoever
// wrote it.
func TestBoardsHoldNothingThatDrives(t *testing.T) {
	cat, m := hosttest.Windows(t), viewtest.Moment(9)
	m.Hostname = viewtest.Hostile
	for i := range m.Verdicts {
		v := &m.Verdicts[i]
		v.Title, v.Say, v.Do = viewtest.Hostile, viewtest.Hostile, []string{viewtest.Hostile}
		v.Server.Name += viewtest.Hostile
	}
	m.Servers[0].Title = viewtest.Hostile
	m.Servers[0].Ruled[0].Why = viewtest.Hostile
	m.Servers[0].Unknown[0].Missing[0].Why = viewtest.Hostile
	m.Servers[0].Rates[0].Label = viewtest.Hostile
	m.Gaps[0].Why = viewtest.Hostile
	text, err := json.Marshal(view.MakeBoard(m, cat))
	if err != nil {
		t.Fatal(err)
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	seen := 0
	walk(all, func(s string) {
		seen++
		for _, r := range s {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q holds %U", s, r)
				return
			}
		}
	})
	if seen < 200 || !strings.Contains(string(text), "owned") {
		t.Errorf("only %d strings were looked at", seen)
	}
}

func walk(x any, each func(string)) {
	switch x := x.(type) {
	case string:
		each(x)
	case []any:
		for _, y := range x {
			walk(y, each)
		}
	case map[string]any:
		for _, y := range x {
			walk(y, each)
		}
	}
}

func TestABoardOfNothing(t *testing.T) {
	b := view.MakeBoard(watch.Moment{At: at}, hosttest.Windows(t))
	text, err := json.Marshal(b)
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%s: %v", text, err)
	}
}

func FuzzPlain(f *testing.F) {
	f.Add(viewtest.Hostile)
	f.Add("\xff\xfe\x00")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range view.Plain(s) {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
				t.Errorf("%q gives %U", s, r)
			}
		}
	})
}

// TestTheTextOfASession: a server that tells only the number of what a session runs
// has the text among its statements.
func TestIdlenessCostsNothing(t *testing.T) {
	m := watch.Moment{At: at, Verdicts: []watch.Verdict{{ID: watch.Idle}, {ID: "log/flush"}}}
	b := view.MakeBoard(m, hosttest.Windows(t))
	if idle, flush := b.Verdicts[0].Cost, b.Verdicts[1].Cost; idle != "costs nothing" || flush != "share of the active time not known" {
		t.Errorf("it costs %q, and a limit %q", idle, flush)
	}
}

func TestTheTextOfASession(t *testing.T) {
	cat, m := hosttest.Windows(t), viewtest.Moment(9)
	s := &m.Servers[0]
	known := s.Statements[1]
	s.Sessions = append(s.Sessions[:1:1], s.Sessions[0], s.Sessions[0])
	for i, id := range []string{known.ID, "never ended"} {
		s.Sessions[i+1].ID, s.Sessions[i+1].Text, s.Sessions[i+1].Statement = int64(9000+i), "", id
	}
	said := map[string]string{}
	for _, x := range view.MakeBoard(m, cat).Sessions {
		said[x.ID] = x.Text
	}
	if said["9000"] != known.Text || said["9001"] != "statement never ended" {
		t.Errorf("%q and %q", said["9000"], said["9001"])
	}
}

// TestWhatBeganOnAnotherDayNamesIt: a verdict that has held for two days did not begin this night.
func TestWhatBeganOnAnotherDayNamesIt(t *testing.T) {
	cat, m := hosttest.Windows(t), moment()
	for i := range m.Verdicts {
		m.Verdicts[i].Since = at.Add(-48 * time.Hour)
	}
	m.Timeline[0].From = at.Add(-48 * time.Hour)
	b := view.MakeBoard(m, cat)
	for what, got := range map[string]string{"screen": view.Text(m, cat, page.Screen{Width: 120}), "detail": b.Servers[0].Detail, "verdict": b.Verdicts[0].Since, "timeline": b.Timeline[0].When} {
		if !strings.Contains(got, "23 Nov 03:12") {
			t.Errorf("%s: %s", what, got)
		}
	}
	if today := view.MakeBoard(moment(), cat).Verdicts[0].Since; today != "03:11:05 UTC" {
		t.Errorf("of today: %s", today)
	}
}

// TestAVerdictThatIsNotClearedYet: what the newest window does not show is told of the time when it was seen, and does not contradict
// what is told of now.
func TestAVerdictThatIsNotClearedYet(t *testing.T) {
	cat, m := hosttest.Windows(t), moment()
	none := 0.0
	m.Servers[0].Active = &none
	for i := range m.Verdicts {
		m.Verdicts[i].Until = at.Add(-20 * time.Second)
	}
	b := view.MakeBoard(m, cat)
	for what, got := range map[string]string{"screen": view.Text(m, cat, page.Screen{Width: 120}), "detail": b.Servers[0].Detail, "verdict": b.Verdicts[0].Cost} {
		if !strings.Contains(got, "of the active time, last seen at 03:11:45") {
			t.Errorf("%s: %s", what, got)
		}
	}
	if want := "0 active sessions in the last 5 s"; b.Servers[0].Load != want {
		t.Errorf("load %q, want %q", b.Servers[0].Load, want)
	}
	now, then := view.Document(moment(), cat).Verdicts[0], view.Document(m, cat).Verdicts[0]
	if now.Until != nil || then.Until == nil || !then.Until.Equal(at.Add(-20*time.Second)) {
		t.Errorf("in JSON now until %v, then until %v", now.Until, then.Until)
	}
}
