package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"plumb/internal/units"
	"plumb/internal/view/page"
	view "plumb/internal/view/watch"
)

// The smallest terminal on which a screen says something.
const (
	leastWidth  = 30
	leastHeight = 8
)

// mostServers is how many servers the head has room for.
const mostServers = 4

// View implements [tea.Model].
func (m model) View() tea.View {
	v := tea.NewView(m.text())
	v.AltScreen = true
	return v
}

// text is the whole screen: at most height lines of at most width columns.
func (m model) text() string {
	if m.width < leastWidth || m.height < leastHeight {
		return m.ascii(page.Cut("too small", max(0, m.width)))
	}
	lines := m.head()
	body := m.body(m.height - len(lines) - 1)
	for len(body) < m.height-len(lines)-1 {
		body = append(body, "")
	}
	lines = append(append(lines, body...), m.foot())
	return m.ascii(strings.Join(lines, "\n"))
}

func (m model) ascii(s string) string {
	if m.screen.ASCII {
		return page.ASCII(s)
	}
	return s
}

// paint makes a line stand out, where there is colour.
func (m model) paint(i page.Ink, s string) string {
	if !m.screen.Colour || s == "" {
		return s
	}
	st := lipgloss.NewStyle()
	switch i {
	case page.Normal:
		return s
	case page.Bold:
		st = st.Bold(true)
	case page.Dim:
		st = st.Faint(true)
	case page.Red:
		st = st.Bold(true).Foreground(lipgloss.Red)
	case page.Yellow:
		st = st.Foreground(lipgloss.Yellow)
	case page.Cyan:
		st = st.Foreground(lipgloss.Cyan)
	}
	return st.Render(s)
}

// head is the line of the host, what limits each server, and the panes' names.
func (m model) head() []string {
	left := "plumb watch"
	if m.shown.Hostname != "" {
		left += " · " + m.shown.Hostname
	}
	right, ink := m.age()
	room := m.width - page.Width(right) - 1
	lines := []string{m.paint(page.Bold, pad(left, room)) + " " + m.paint(ink, right)}
	lines = append(lines, m.limits()...)
	return append(lines, m.tabs())
}

// age says how old what is shown is. Nothing old is shown as if it were now.
func (m model) age() (string, page.Ink) {
	switch {
	case m.shownAt.IsZero() && m.ended != "":
		return "ended", page.Red
	case m.shownAt.IsZero():
		return "no sample yet", page.Yellow
	}
	seconds := max(0, m.now.Sub(m.shownAt))
	old := units.Age(int64(seconds.Seconds())) + " old"
	switch {
	case m.ended != "":
		return "ENDED, " + old + " · " + m.shown.Clock, page.Red
	case m.paused:
		return "PAUSED, " + old + " · " + m.shown.Clock, page.Yellow
	case seconds >= stale:
		return "STALE, " + old + " · " + m.shown.Clock, page.Red
	}
	return old + " · " + m.shown.Clock, page.Dim
}

// limits says of each server what limits it.
func (m model) limits() []string {
	var out []string
	if m.ended != "" {
		out = append(out, m.paint(page.Red, page.Cut("Sampling has ended: "+m.ended, m.width)))
	}
	servers := m.shown.Servers
	if len(servers) == 0 {
		return append(out, page.Cut(m.none(), m.width))
	}
	most := min(mostServers, max(1, (m.height-4)/5))
	for i, s := range servers {
		if i == most {
			out = append(out, m.paint(page.Dim, page.Cut("and "+units.Count(len(servers)-i, "more server")+silent(servers[i:])+": see the stack", m.width)))
			break
		}
		switch name := short(s.Ref, m.width/2); {
		case s.Limited():
			out = append(out, m.paint(page.Red, page.Cut(s.Now, m.width)), m.paint(page.Dim, page.Cut("  "+name+" · "+s.Detail+" · "+s.Load, m.width)))
		case !s.Up:
			out = append(out, m.paint(page.Yellow, page.Cut(name+": "+s.Now, m.width)))
		default:
			out = append(out, page.Cut(name+": "+s.Load+". "+s.Now, m.width))
		}
	}
	return out
}

// silent says of how many servers that are not listed nothing was read.
func silent(all []view.BoardServer) string {
	n := 0
	for _, s := range all {
		if !s.Up {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d silent", n)
}

// none says why no server is shown.
func (m model) none() string {
	switch {
	case m.shownAt.IsZero() && m.ended != "":
		return "Nothing was seen."
	case m.shownAt.IsZero():
		return "Waiting for the first window; this takes some seconds."
	case len(m.shown.Gaps) > 0:
		return "No server is seen: " + m.shown.Gaps[0]
	}
	return "No server is seen."
}

func (m model) tabs() string {
	var parts []string
	used := 0
	for i, name := range paneNames {
		switch {
		case m.width < 40:
			name = name[:2]
		case m.width < 60:
			name = name[:5]
		}
		text := fmt.Sprintf(" %d %s ", i+1, name)
		if i == m.pane && m.open == nil {
			text = fmt.Sprintf("[%d %s]", i+1, name)
		}
		used += len(text)
		ink := page.Dim
		if i == m.pane {
			ink = page.Cyan
		}
		parts = append(parts, m.paint(ink, text))
	}
	rule := strings.Repeat("─", max(0, m.width-used))
	return strings.Join(parts, "") + m.paint(page.Dim, rule)
}

// room is how many rows of a pane fit on the screen.
func (m model) room() int {
	n := m.height - len(m.head()) - 1
	if m.open == nil && paneHead[m.pane] {
		n--
	}
	return max(1, n)
}

func (m model) body(room int) []string {
	if m.open != nil {
		all := m.sheetLines()
		top := min(m.open.top, max(0, len(all)-room))
		return all[top:min(len(all), top+room)]
	}
	var out []string
	if paneHead[m.pane] {
		out = append(out, m.paint(page.Dim, page.Cut(m.columns(m.pane), m.width)))
	}
	rows := m.rows(m.pane)
	top := min(m.top[m.pane], max(0, len(rows)-1))
	for i := top; i < len(rows) && len(out) < room; i++ {
		mark, ink := "  ", rows[i].ink
		if i == m.cursor[m.pane] {
			mark = "› "
		}
		text := strings.TrimRight(mark+page.Cut(rows[i].text, m.width-2), " ")
		if i == m.cursor[m.pane] && m.screen.Colour {
			text = lipgloss.NewStyle().Reverse(true).Render(pad(text, m.width))
		} else {
			text = m.paint(ink, text)
		}
		out = append(out, text)
	}
	if len(rows) == 0 {
		out = append(out, m.paint(page.Dim, page.Cut("  "+m.empty(m.pane), m.width)))
	}
	return out
}

// sheetLines are those of what is open, wrapped.
func (m model) sheetLines() []string {
	out := []string{m.paint(page.Bold, page.Cut(m.open.title, m.width))}
	for _, text := range m.open.lines {
		head, rest, labelled := strings.Cut(text, "\t")
		if !labelled {
			head, rest = "", text
		}
		for i, l := range page.Wrap(rest, m.width-labelWidth-1) {
			if i > 0 {
				head = ""
			}
			out = append(out, page.Cut(pad(head, labelWidth)+l, m.width))
		}
	}
	return out
}

// foot has the keys, and how much cannot be seen.
func (m model) foot() string {
	keys := []string{"q quit", "tab 1-4 panes", "enter details", "p pause", "? help"}
	switch {
	case m.open != nil:
		keys = []string{"esc back", "arrows scroll", "q quit"}
	case m.pane == statementsPane:
		keys = slices.Insert(keys, 1, "s by "+string(m.by))
	}
	text := strings.Join(keys, "  ")
	if n := len(m.shown.Gaps); n > 0 {
		text = fmt.Sprintf("%d not seen  ", n) + text
	}
	for page.Width(text) > m.width && len(keys) > 1 {
		keys = slices.Delete(keys, len(keys)-2, len(keys)-1)
		text = strings.Join(keys, "  ")
	}
	return m.paint(page.Dim, page.Cut(text, m.width))
}

// pad is a text on n columns, cut or filled up with spaces.
func pad(s string, n int) string {
	s = page.Cut(s, n)
	return s + strings.Repeat(" ", max(0, n-page.Width(s)))
}

// short is the name of a server on at most n columns. Its end tells servers
// apart: many are called by the path of a socket.
func short(s string, n int) string {
	r := []rune(s)
	for cut := 1; page.Width(s) > n && cut < len(r); cut++ {
		s = "…" + string(r[cut:])
	}
	return s
}
