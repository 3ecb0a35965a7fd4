package tui

import (
	"strings"

	"plumb/internal/view/page"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
)

// row is one line of a pane, and what enter shows of it: lines that begin with a
// label and a tab, or have none.
type row struct {
	key, title string
	text       string
	ink        page.Ink
	detail     []string
	server, id string // of a statement whose plan can be asked for
}

// paneHead are the panes with a line that names their columns.
var paneHead = [paneCount]bool{sessionsPane: true, statementsPane: true, timelinePane: true}

var emptyPane = [paneCount]string{
	stackPane:      "The stack has not been read yet.",
	sessionsPane:   "No session is active.",
	statementsPane: "No statement was counted, or none is visible.",
	timelinePane:   "No verdict was raised in the last hour.",
}

// unseen stands in a pane of sessions where a server does not say how many there are.
const unseen = "The sessions of a server are not visible: key 1 shows why."

// empty says why a pane has no rows.
func (m model) empty(pane int) string {
	for _, s := range m.shown.Servers {
		if pane == sessionsPane && s.Active == nil {
			return unseen
		}
	}
	return emptyPane[pane]
}

func (m model) rows(pane int) []row {
	switch pane {
	case stackPane:
		return stackRows(m.shown, m.width-2)
	case sessionsPane:
		return m.sessionRows()
	case statementsPane:
		return m.statementRows()
	}
	return m.timelineRows()
}

// columns names those of a pane.
func (m model) columns(pane int) string {
	switch pane {
	case sessionsPane:
		return "  " + m.sessionLine(view.BoardSession{Server: "SERVER", ID: "ID", User: "USER", Does: "DOES", For: "FOR", WaitsFor: "WAITS FOR", Text: "STATEMENT"})
	case statementsPane:
		return "  " + m.statementLine(view.BoardStatement{Server: "SERVER", Share: "TIME", Calls: "CALLS", Each: "EACH", Change: "CHANGED BY", Rows: "ROWS", Bytes: "BYTES", Text: "STATEMENT, LAST " + strings.ToUpper(m.shown.Over)})
	}
	return "  " + m.spanLine("HELD", "FOR", "LAST HOUR", "VERDICT", "SERVER")
}

func stackRows(b view.Board, width int) []row {
	labels := 0
	for _, n := range b.Tree {
		labels = max(labels, 2*n.Depth+page.Width(n.Label))
	}
	labels = min(labels, width/3)
	var out []row
	for i, n := range b.Tree {
		server := standsUnder(i, b.Tree)
		r := row{key: n.Ref + " of " + server, title: n.Ref}
		var parts []string
		for _, v := range n.Values {
			parts = append(parts, v.Label+" "+v.Shown)
			r.detail = append(r.detail, v.Label+"\t"+v.Shown)
		}
		if n.Verdict != "" {
			r.ink = page.Red
			parts = append([]string{"! " + n.Verdict}, parts...)
		}
		if n.Depth == 0 {
			s := serverOf(b, n.Ref)
			parts = append(parts, strings.TrimPrefix(brief(s), " · "))
			r.detail = append(r.detail, serverDetail(s)...)
		}
		r.text = pad(strings.Repeat("  ", n.Depth)+n.Label, labels) + "  " + strings.Trim(strings.Join(parts, " · "), " ·")
		r.detail = append(r.detail, verdictsOf(b, n.Verdict, server)...)
		out = append(out, r)
	}
	for _, g := range b.Gaps {
		out = append(out, row{key: "gap " + g, title: "Not seen", text: "not seen: " + g, ink: page.Yellow, detail: []string{g}})
	}
	return out
}

// standsUnder is the server that a thing stands under: one disk can stand under two.
func standsUnder(i int, tree []view.BoardNode) string {
	for ; i >= 0; i-- {
		if tree[i].Depth == 0 {
			return tree[i].Ref
		}
	}
	return ""
}

func serverOf(b view.Board, ref string) view.BoardServer {
	for _, s := range b.Servers {
		if s.Ref == ref {
			return s
		}
	}
	return view.BoardServer{}
}

// brief is a server's numbers on one line.
func brief(s view.BoardServer) string {
	var b strings.Builder
	for _, r := range s.Rates {
		b.WriteString(" · " + r.Label + " " + r.Shown)
	}
	return b.String()
}

func serverDetail(s view.BoardServer) []string {
	out := []string{"server\t" + s.Title, "load\t" + s.Load}
	for _, c := range s.Classes {
		out = append(out, c.Class+"\t"+c.Shown+" of the active time")
	}
	for _, r := range s.Rates {
		out = append(out, r.Label+"\t"+r.Shown)
	}
	for _, r := range s.Ruled {
		out = append(out, "ruled out\t"+r)
	}
	return out
}

// severalServers tells whether rows say which server they are of.
func (m model) severalServers() bool { return len(m.shown.Servers) > 1 && m.width >= 72 }

func (m model) sessionLine(s view.BoardSession) string {
	line := ""
	if m.severalServers() {
		line = pad(short(s.Server, 13), 13) + " "
	}
	line += pad(s.ID, 7) + " " + pad(s.User, 10) + " " + pad(s.Does, 10) + " " + pad(s.For, 7) + " "
	if m.width >= 72 {
		line += pad(s.WaitsFor, 9) + " "
	}
	return line + s.Text
}

func (m model) sessionRows() (out []row) {
	for _, s := range m.shown.Sessions {
		r := row{key: s.Server + s.ID, title: "Session " + s.ID + " of " + s.Server, text: m.sessionLine(s)}
		if s.WaitsFor != "" {
			r.ink = page.Yellow
		}
		r.detail = labelled("user", s.User, "client", s.Client, "database", s.Database, "does", s.Does, "waits on", s.Wait, "for", s.For, "in transaction", s.InTx, "waits for", s.WaitsFor, "statement", s.Text)
		out = append(out, r)
	}
	return out
}

func (m model) statementLine(s view.BoardStatement) string {
	line := ""
	if m.severalServers() {
		line = pad(short(s.Server, 13), 13) + " "
	}
	line += pad(s.Share, 6) + " " + pad(s.Calls, 8) + " " + pad(s.Each, 6) + " "
	switch {
	case m.by == watch.ByRows:
		line += pad(s.Rows, 20) + " "
	case m.by == watch.ByBytes:
		line += pad(s.Bytes, 20) + " "
	case m.by == watch.ByGrowth || m.width >= 80:
		line += pad(s.Change, 20) + " "
	}
	return line + s.Text
}

func (m model) statementRows() (out []row) {
	for _, s := range m.shown.By(m.by) {
		r := row{key: s.Server + s.Database + s.Text, title: "Statement of " + s.Server, text: m.statementLine(s)}
		r.detail = labelled("statement", s.Text, "database", s.Database, "of all time", s.Share, "calls", s.Calls+" in the last "+s.Over, "each", s.Each, "touched", s.Touched, "changed", s.Change)
		if m.plan != nil && s.ID != "" {
			r.server, r.id = s.Server, s.ID
			r.detail = append(r.detail, "plan\te, outside of this page, asks the server for it")
		}
		out = append(out, r)
	}
	for _, x := range m.shown.Indexes {
		out = append(out, row{key: "index " + x.Server + x.Name, title: "Index of " + x.Server, ink: page.Dim, text: "index " + x.Name + ": " + x.Why,
			detail: labelled("index", x.Name, "why", x.Why)})
	}
	return out
}

func (m model) spanLine(when, lasted, bar, what, server string) string {
	line := pad(when, 20) + " " + pad(lasted, 6) + " "
	if m.width >= 72 {
		line += pad(bar, barWidth) + " "
	}
	return line + pad(what, 18) + " " + server
}

const barWidth = 12

// bar shows a span in the hour before the moment.
func bar(s view.BoardSpan) string {
	from := min(int(s.From*barWidth), barWidth-1)
	to := max(from+1, int(s.To*barWidth+0.5))
	return strings.Repeat("·", from) + strings.Repeat("█", min(to, barWidth)-from) + strings.Repeat("·", max(0, barWidth-to))
}

// timelineRows are newest first: what holds, what held, what cannot be told.
func (m model) timelineRows() (out []row) {
	b := m.shown
	for i := len(b.Timeline) - 1; i >= 0; i-- {
		s := b.Timeline[i]
		r := row{key: s.Key, title: s.ID + " of " + s.Server, text: m.spanLine(s.When, s.Lasted, bar(s), s.ID, s.Server+" "+s.Cost)}
		if s.Holds {
			r.ink, r.detail = page.Red, verdictsOf(b, s.ID, s.Server)
		} else {
			r.detail = labelled("limit", s.Title, "cost", "at most "+s.Cost)
		}
		r.detail = append(r.detail, labelled("held", s.When+" UTC", "for", s.Lasted)...)
		out = append(out, r)
	}
	for _, u := range b.Unknown {
		out = append(out, row{key: "unknown " + u.ID + u.Server, title: u.ID + " of " + u.Server, text: "unknown: " + u.ID + " of " + u.Server + ": " + u.Why, ink: page.Dim, detail: []string{"Whether this is so is not known: " + u.Why + "."}})
	}
	return out
}
