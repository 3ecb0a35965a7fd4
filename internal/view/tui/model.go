package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"plumb/internal/series"
	"plumb/internal/view/page"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
)

// The panes, in the order of their keys.
const (
	stackPane = iota
	sessionsPane
	statementsPane
	timelinePane
	paneCount
)

var paneNames = [paneCount]string{"Stack", "Sessions", "Statements", "Timeline"}

// stale is the age at which a moment is no longer called the present one: a
// window takes five seconds, and two may be late.
const stale = 15 * time.Second

// boardMsg is a moment that arrived.
type boardMsg struct {
	board view.Board
	at    time.Time // when it was here
}

// clockMsg is the time now: a moment grows old while nothing arrives.
type clockMsg time.Time

// endedMsg says that nothing will arrive any more.
type endedMsg struct{ why string }

// model is all that the screen depends on.
type model struct {
	screen        page.Screen
	width, height int

	shown, latest     view.Board
	shownAt, latestAt time.Time // when they arrived; zero: none did
	now               time.Time
	paused            bool
	ended             string

	pane   int
	by     watch.Order // how statements are listed
	cursor [paneCount]int
	top    [paneCount]int
	open   *sheet // details or help, over the panes
	plan   func(server, id string) series.Plan
}

// sheet is text over the panes, as it was when it was opened.
type sheet struct {
	title string
	lines []string // not yet wrapped
	top   int
	waits string // for which plan; "": for none
}

// planMsg is a plan that was asked for, for the sheet that waits for it.
type planMsg struct {
	of   string // the sheet's title
	plan series.Plan
}

// asking makes the model ask for plans.
func (m model) asking(plan func(server, id string) series.Plan) model {
	m.plan = plan
	return m
}

// explain opens a sheet for the plan of a statement, and asks for it.
func (m model) explain(r row) (tea.Model, tea.Cmd) {
	m.open = &sheet{title: "Plan of a statement of " + r.server, lines: []string{r.detail[0], "The server explains how it would run the statement; it does not run it."}}
	title, ask := m.open.title+r.id, m.plan
	m.open.waits = title
	return m, func() tea.Msg { return planMsg{title, ask(r.server, r.id)} }
}

func newModel(s page.Screen, height int, now time.Time) model {
	if s.Width == 0 {
		s.Width = 80
	}
	return model{screen: s, width: s.Width, height: height, now: now, by: watch.ByTime}
}

// Init implements [tea.Model].
func (m model) Init() tea.Cmd { return tick() }

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return clockMsg(t) }) }

// Update implements [tea.Model].
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m = m.follow()
	case clockMsg:
		m.now = time.Time(msg)
		return m, tick()
	case boardMsg:
		m.latest, m.latestAt, m.now = msg.board, msg.at, msg.at
		if !m.paused {
			m = m.show()
		}
	case endedMsg:
		m.ended = msg.why
	case planMsg:
		if m.open != nil && m.open.waits == msg.of {
			s := *m.open
			s.lines, s.waits = append(s.lines[:1:1], labelledPlan(msg.plan)...), ""
			m.open = &s
		}
	case tea.KeyPressMsg:
		return m.press(msg.String())
	}
	return m, nil
}

// show takes the latest moment, and keeps the cursor on the row it was on. A person who has not moved it looks at what
// comes first.
func (m model) show() model {
	var keys [paneCount]string
	for p := range paneCount {
		if rows := m.rows(p); m.cursor[p] > 0 && m.cursor[p] < len(rows) {
			keys[p] = rows[m.cursor[p]].key
		}
	}
	m.shown, m.shownAt = m.latest, m.latestAt
	for p := range paneCount {
		for i, r := range m.rows(p) {
			if keys[p] != "" && r.key == keys[p] {
				m.cursor[p] = i
				break
			}
		}
	}
	return m.follow()
}

func (m model) press(key string) (tea.Model, tea.Cmd) {
	switch key {
	case "q", "ctrl+c":
		return m, tea.Quit
	case "p", "space":
		m.paused = !m.paused
		if !m.paused && !m.latestAt.IsZero() {
			m = m.show()
		}
		return m, nil
	case "?", "h":
		m.open = &sheet{title: "Keys", lines: helpLines}
		return m, nil
	}
	if m.open != nil {
		return m.pressSheet(key), nil
	}
	if rows := m.rows(m.pane); key == "e" && m.plan != nil && m.cursor[m.pane] < len(rows) && rows[m.cursor[m.pane]].id != "" {
		return m.explain(rows[m.cursor[m.pane]])
	}
	return m.pressPane(key), nil
}

func (m model) pressSheet(key string) model {
	s := *m.open
	switch key {
	case "esc", "enter", "backspace", "left":
		m.open = nil
		return m
	}
	most := max(0, len(m.sheetLines())-m.room())
	s.top = min(max(0, s.top+step(key, m.room(), most)), most)
	m.open = &s
	return m
}

func (m model) pressPane(key string) model {
	rows := m.rows(m.pane)
	switch key {
	case "tab", "right":
		m.pane = (m.pane + 1) % paneCount
	case "shift+tab", "left":
		m.pane = (m.pane + paneCount - 1) % paneCount
	case "1", "2", "3", "4":
		m.pane = int(key[0] - '1')
	case "s":
		if m.pane == statementsPane {
			m.by = watch.AllOrders[(slices.Index(watch.AllOrders, m.by)+1)%len(watch.AllOrders)]
			m.cursor[m.pane] = 0 // what is first in the new order is what was asked for
		}
	case "enter":
		if i := m.cursor[m.pane]; i < len(rows) && len(rows[i].detail) > 0 {
			m.open = &sheet{title: rows[i].title + ", as of " + m.shown.Clock, lines: rows[i].detail}
		}
		return m
	default:
		m.cursor[m.pane] += step(key, m.room(), len(rows))
	}
	return m.follow()
}

// step is by how many lines a key moves, on a page of room lines in all.
func step(key string, room, all int) int {
	switch key {
	case "up", "k":
		return -1
	case "down", "j":
		return 1
	case "pgup":
		return -room
	case "pgdown":
		return room
	case "home", "g":
		return -all
	case "end", "G":
		return all
	}
	return 0
}

// follow keeps the cursor on a row and the row on the screen.
func (m model) follow() model {
	room := m.room()
	for p := range paneCount {
		n := len(m.rows(p))
		m.cursor[p] = min(max(0, m.cursor[p]), max(0, n-1))
		m.top[p] = max(min(m.top[p], m.cursor[p]), m.cursor[p]-room+1, 0)
		m.top[p] = min(m.top[p], max(0, n-room))
	}
	return m
}
