package tui

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"plumb/internal/host/hosttest"
	"plumb/internal/series"
	"plumb/internal/view/page"
	"plumb/internal/view/viewtest"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
)

var start = viewtest.MomentTime

// play gives messages to a model: keys as they are named, moments by number.
func play(t testing.TB, m model, msgs ...any) model {
	t.Helper()
	for _, x := range msgs {
		var msg tea.Msg = x
		switch x := x.(type) {
		case string:
			msg = keyMsg(x)
		case int:
			msg = boardMsg{view.MakeBoard(viewtest.Moment(x), hosttest.Windows(t)), start.Add(time.Duration(x) * time.Second)}
		}
		next, _ := m.Update(msg)
		m = next.(model)
	}
	return m
}

func keyMsg(name string) tea.KeyPressMsg {
	switch name {
	case "tab":
		return tea.KeyPressMsg{Code: tea.KeyTab}
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	case "up":
		return tea.KeyPressMsg{Code: tea.KeyUp}
	case "end":
		return tea.KeyPressMsg{Code: tea.KeyEnd}
	case "pgdown":
		return tea.KeyPressMsg{Code: tea.KeyPgDown}
	case "ctrl+c":
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

func clock(seconds int) clockMsg { return clockMsg(start.Add(time.Duration(seconds) * time.Second)) }

// fits fails if a screen is larger than its terminal or drives it.
func fits(t *testing.T, name, text string, width, height int) {
	t.Helper()
	lines := strings.Split(text, "\n")
	if len(lines) > height {
		t.Errorf("%s: %d lines on %d", name, len(lines), height)
	}
	for _, l := range lines {
		if w := lipgloss.Width(l); w > width {
			t.Errorf("%s: %d columns on %d: %q", name, w, width, l)
		}
		for _, r := range l {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Errorf("%s: %U in %q", name, r, l)
			}
		}
	}
}

func TestScreens(t *testing.T) {
	plain := page.Screen{Width: 80}
	for name, c := range map[string]struct {
		screen page.Screen
		height int
		msgs   []any
	}{
		"waiting":     {plain, 24, nil},
		"stack":       {plain, 24, []any{9, clock(10)}},
		"quiet":       {plain, 24, []any{2, clock(3)}},
		"sessions":    {plain, 24, []any{9, "2"}},
		"stranger":    {plain, 24, []any{9, "2", "end", "up", "enter"}},
		"statements":  {plain, 24, []any{9, "3"}},
		"timeline":    {plain, 24, []any{9, "4", "down"}},
		"verdict":     {plain, 24, []any{9, "4", "down", "enter"}},
		"help":        {plain, 24, []any{9, "?"}},
		"stale":       {plain, 24, []any{9, clock(60)}},
		"paused":      {plain, 24, []any{9, "p", 30}},
		"ended":       {plain, 24, []any{9, endedMsg{"read /proc/stat: permission denied"}, clock(12)}},
		"narrow":      {page.Screen{Width: 60}, 20, []any{9, "3"}},
		"ascii":       {page.Screen{Width: 80, ASCII: true}, 24, []any{9, "4"}},
		"large":       {page.Screen{Width: 140}, 40, []any{9, "2"}},
		"after-shown": {plain, 24, []any{9, "tab", "tab", tea.WindowSizeMsg{Width: 60, Height: 12}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := play(t, newModel(c.screen, c.height, start), c.msgs...)
			text := m.text()
			fits(t, name, text, m.width, m.height)
			viewtest.Golden(t, name+".txt", text+"\n")
		})
	}
}

// madePlan answers as a server would.
func madePlan(server, id string) series.Plan {
	rows, cost := 998.0, 12.5
	return series.Plan{Statement: id, By: "session 7, which runs it now", Steps: []series.PlanStep{{Does: "sorts", Mark: true}, {Depth: 1, Does: "reads all rows of " + viewtest.Hostile, Rows: &rows, Cost: &cost, Mark: true}}}
}

// TestAPlanIsAskedFor: the key opens a page at once, and the answer comes to that
// page alone.
func TestAPlanIsAskedFor(t *testing.T) {
	m := play(t, newModel(page.Screen{Width: 80}, 24, start).asking(madePlan), 9, "3")
	next, ask := m.Update(keyMsg("e"))
	m = next.(model)
	if m.open == nil || ask == nil || strings.Contains(m.text(), "sorts") {
		t.Fatal("no page was opened, or it knows the plan already")
	}
	viewtest.Golden(t, "plan-asked.txt", m.text()+"\n")
	answer := ask()
	shown := play(t, m, answer)
	fits(t, "plan", shown.text(), 80, 24)
	viewtest.Golden(t, "plan.txt", shown.text()+"\n")
	if gone := play(t, m, "esc", answer); gone.open != nil {
		t.Error("an answer opened a page that was left")
	}
	if other := play(t, m, "esc", "down", "e", answer); strings.Contains(other.text(), "sorts") {
		t.Error("the plan of another statement is shown")
	}
	for _, pane := range []string{"1", "2", "4"} {
		if m := play(t, m, "esc", pane, "e"); m.open != nil {
			t.Errorf("pane %s has a plan", pane)
		}
	}
}

// TestStatementsAreListedByWhatAPersonAsks: the key goes through the orders of --sort and back, shows the figure they are
// listed by, begins at the top, works on a screen that stands still, and is none of the other panes'.
func TestStatementsAreListedByWhatAPersonAsks(t *testing.T) {
	board := boardMsg{view.MakeBoard(viewtest.Unlike(9), hosttest.Windows(t)), start.Add(9 * time.Second)}
	m := play(t, newModel(page.Screen{Width: 80}, 24, start), board, "3", "down", "p")
	for _, c := range []struct{ by, first, shows string }{
		{"growth", "sbtest3 ", "+900 s slower"}, {"rows", "sbtest2 ", "5,000,000,000 exam"}, {"bytes", "sbtest4 ", "2.79G"}, {"time", "sbtest1 ", "+120 s slower"},
	} {
		m = play(t, m, "s")
		row, screen := m.rows(statementsPane)[0], m.text()
		if !strings.Contains(row.detail[0], c.first) || !strings.Contains(row.text, c.shows) || m.cursor[statementsPane] != 0 || !strings.Contains(screen, "s by "+c.by) {
			t.Errorf("by %s: %q\n%s", c.by, row.text, screen)
		}
		if other := play(t, m, "2", "s", "3"); other.by != m.by {
			t.Errorf("the key of the pane of statements sorts from another pane")
		}
		if c.by == "rows" {
			fits(t, "by rows", screen, 80, 24)
			viewtest.Golden(t, "by-rows.txt", screen+"\n")
			next := play(t, m, "p", board)
			if got := next.rows(statementsPane)[0]; got.text != row.text {
				t.Errorf("the next moment is in another order: %q", got.text)
			}
		}
	}
}

// TestEverySizeFits: whatever the terminal and the pane, nothing runs over.
func TestEverySizeFits(t *testing.T) {
	base := play(t, newModel(page.Screen{Width: 80}, 24, start), 9)
	for width := 1; width <= 130; width += 9 {
		for height := 1; height <= 45; height += 6 {
			m := play(t, base, tea.WindowSizeMsg{Width: width, Height: height})
			for _, key := range []string{"1", "2", "3", "4"} {
				for _, msgs := range [][]any{{key}, {key, "s", "s"}, {key, "end"}, {key, "end", "enter", "pgdown"}} {
					fits(t, fmt.Sprint(width, "×", height, " ", msgs), play(t, m, msgs...).text(), width, height)
				}
			}
		}
	}
}

func TestTheCursorStaysOnItsRow(t *testing.T) {
	m := play(t, newModel(page.Screen{Width: 80}, 24, start), 9, "2", "down", "down")
	want := m.rows(sessionsPane)[2].key
	moved := viewtest.Moment(10)
	moved.Servers[0].Sessions = moved.Servers[0].Sessions[1:]
	m = play(t, m, boardMsg{view.MakeBoard(moved, hosttest.Windows(t)), start})
	if got := m.rows(sessionsPane)[m.cursor[sessionsPane]].key; got != want {
		t.Errorf("the cursor is on %q, was on %q", got, want)
	}
	none := moved
	none.Servers = nil
	m = play(t, m, boardMsg{view.MakeBoard(none, hosttest.Windows(t)), start}, "enter", "down")
	if m.cursor[sessionsPane] != 0 || m.open != nil {
		t.Error("a cursor stands on a row that is not there")
	}
}

// TestTheCursorStaysOverMidnight: from then on a time of the evening before is shown with its day.
func TestTheCursorStaysOverMidnight(t *testing.T) {
	evening := viewtest.Moment(9)
	midnight := evening.At.Truncate(24 * time.Hour).Add(24 * time.Hour)
	for i := range evening.Timeline {
		evening.Timeline[i].From, evening.Timeline[i].To = midnight.Add(time.Duration(i-9)*time.Minute), time.Time{}
	}
	board := func(of watch.Moment, at time.Time) boardMsg {
		of.At = at
		return boardMsg{view.MakeBoard(of, hosttest.Windows(t)), start}
	}
	m := play(t, newModel(page.Screen{Width: 80}, 24, start), board(evening, midnight.Add(-time.Second)), "4", "down")
	before := m.rows(timelinePane)[1]
	newer := evening.Timeline[0]
	newer.From = midnight
	evening.Timeline = append(evening.Timeline[:len(evening.Timeline):len(evening.Timeline)], newer)
	m = play(t, m, board(evening, midnight.Add(time.Second)))
	if after := m.rows(timelinePane)[2]; m.cursor[timelinePane] != 2 || after.title != before.title || after.text == before.text {
		t.Errorf("the cursor is in row %d; it was on\n%s, which is now\n%s", m.cursor[timelinePane], before.text, after.text)
	}
}

func TestQuit(t *testing.T) {
	for _, key := range []string{"q", "ctrl+c"} {
		for _, open := range []string{"1", "?"} {
			m := play(t, newModel(page.Screen{Width: 80}, 24, start), 9, open)
			if _, cmd := m.Update(keyMsg(key)); cmd == nil || cmd() != tea.Quit() {
				t.Errorf("%s does not quit", key)
			}
		}
	}
}

// TestColourIsNeverAllThereIs: with colour and without, the words are the same.
func TestColourIsNeverAllThereIs(t *testing.T) {
	plain := play(t, newModel(page.Screen{Width: 80}, 24, start), 9)
	coloured := plain
	coloured.screen.Colour = true
	with := coloured.text()
	if !strings.Contains(with, "\x1b[") || strings.Contains(plain.text(), "\x1b") {
		t.Error("colour is where it should not be, or is not where it should")
	}
	var bare []string
	for l := range strings.SplitSeq(stripped(with), "\n") {
		bare = append(bare, strings.TrimRight(l, " "))
	}
	var want []string
	for l := range strings.SplitSeq(plain.text(), "\n") {
		want = append(want, strings.TrimRight(l, " "))
	}
	if strings.Join(bare, "\n") != strings.Join(want, "\n") {
		t.Errorf("with colour:\n%s\nwithout:\n%s", strings.Join(bare, "\n"), strings.Join(want, "\n"))
	}
}

// stripped is a text without the colours that this package writes.
func stripped(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

func TestLines(t *testing.T) {
	cat := hosttest.Windows(t)
	first, later := view.MakeBoard(viewtest.Moment(2), cat), view.MakeBoard(viewtest.Moment(9), cat)
	text := Lines(nil, first, page.Screen{}) + "--\n" + Lines(&first, later, page.Screen{}) + "--\n" + Lines(&later, later, page.Screen{ASCII: true})
	viewtest.Golden(t, "lines.txt", text)
}

// TestInATerminal runs the program in a real terminal.
func TestInATerminal(t *testing.T) {
	if os.Getenv("PLUMB_TUI_CHILD") != "" {
		child(t)
		return
	}
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("tmux is not installed: make test installs it")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(tmux, append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	env := "env PLUMB_TUI_CHILD=1 LC_ALL=C.UTF-8 " + self + " -test.run='^TestInATerminal$' -test.count=1; echo it ended; sleep 60"
	run("-u", "new-session", "-d", "-x", "80", "-y", "24", env)
	defer exec.Command(tmux, "-S", socket, "kill-server").Run()
	screen := func() string { return run("capture-pane", "-p") }
	waitFor(t, screen, "sda is saturated", "1 Stack", "q quit")
	run("send-keys", "2")
	waitFor(t, screen, "[2 Sessions]", "SELECT c FROM")
	run("send-keys", "End")
	waitFor(t, screen, "SELECT '名前'")
	run("send-keys", "Up", "Enter")
	waitFor(t, screen, "Session 4711", "owned")
	if title := run("display-message", "-p", "#{pane_title}"); strings.Contains(title, "owned") {
		t.Errorf("a session's user set the title: %s", title)
	}
	run("send-keys", "Escape")
	run("resize-window", "-x", "60", "-y", "16")
	waitFor(t, func() string {
		s := screen()
		if n := strings.Count(strings.TrimRight(s, "\n"), "\n"); n > 15 {
			return ""
		}
		return s
	}, "[2 Sessions]", "q quit", "› 4711")
	run("send-keys", "3", "s", "s")
	waitFor(t, screen, "[3 Statements]", "s by rows")
	run("send-keys", "C-c")
	waitFor(t, screen, "it ended")
	if strings.Contains(screen(), "[3 Statements]") {
		t.Error("the screen was not given back")
	}
}

func waitFor(t *testing.T, screen func() string, want ...string) {
	t.Helper()
	var last string
	for range 300 {
		last = screen()
		found := true
		for _, w := range want {
			found = found && strings.Contains(last, w)
		}
		if found {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%q did not come; the screen is\n%s", want, last)
}

// child is the program in the terminal.
func child(t *testing.T) {
	feed := make(chan watch.Moment)
	go func() {
		for n := 5; ; n++ {
			feed <- viewtest.Moment(n)
			time.Sleep(200 * time.Millisecond)
		}
	}()
	if err := Run(t.Context(), Terminal{os.Stdin, os.Stdout, page.Screen{Width: 80, Colour: true}}, hosttest.Windows(t), feed, Answers{func() error { return nil }, madePlan}); err != nil {
		t.Fatal(err)
	}
}
