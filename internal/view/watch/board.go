package watch

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"plumb/internal/catalog"
	"plumb/internal/series"
	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/watch"
)

// Board is a moment as the live views show it, on the terminal and in the
// browser: each thing as text with its unit, on one line, without any character
// that could drive a terminal or reorder text. It is no document for programs.
type Board struct {
	At         time.Time        `json:"at"`
	Clock      string           `json:"clock"`
	Hostname   string           `json:"hostname"`
	Window     float64          `json:"window_s"`
	Servers    []BoardServer    `json:"servers"`
	Tree       []BoardNode      `json:"tree"`
	Verdicts   []BoardVerdict   `json:"verdicts"`
	Timeline   []BoardSpan      `json:"timeline"`
	Sessions   []BoardSession   `json:"sessions"`
	Statements []BoardStatement `json:"statements"`
	Over       string           `json:"over"` // what they are about: "minute", "20 s"; of servers watched for other times the first one's
	Indexes    []BoardIndex     `json:"indexes"`
	Unknown    []BoardUnknown   `json:"unknown"`
	Gaps       []string         `json:"gaps"`
}

// BoardServer is a server in a line or two.
type BoardServer struct {
	Ref     string       `json:"ref"`
	Title   string       `json:"title"`
	Up      bool         `json:"up"`
	Limit   string       `json:"limit"`   // id of the limit; "": none is raised
	Now     string       `json:"now"`     // what limits it
	Detail  string       `json:"detail"`  // what that costs, and since when
	Active  *float64     `json:"active"`  // null: not known
	Load    string       `json:"load"`    // active sessions
	Classes []BoardClass `json:"classes"` // what its sessions do
	Rates   []BoardValue `json:"rates"`
	Ruled   []string     `json:"ruled"`
}

// BoardClass is a share of a server's active time.
type BoardClass struct {
	Class string  `json:"class"`
	Share float64 `json:"share"`
	Shown string  `json:"shown"`
}

// BoardValue is a live number.
type BoardValue struct {
	Label string  `json:"label"`
	Value float64 `json:"value"`
	Shown string  `json:"shown"`
}

// BoardNode is a thing of the stack.
type BoardNode struct {
	Ref     string       `json:"ref"`
	Depth   int          `json:"depth"`
	Label   string       `json:"label"`
	Values  []BoardValue `json:"values"`
	Verdict string       `json:"verdict"`
}

// BoardVerdict is a verdict that is raised.
type BoardVerdict struct {
	ID       string   `json:"id"`
	Server   string   `json:"server"`
	Title    string   `json:"title"`
	Cost     string   `json:"cost"`
	Since    string   `json:"since"`
	Say      string   `json:"say"`
	Because  string   `json:"because"`
	Causes   string   `json:"causes"`
	Evidence []string `json:"evidence"`
	Against  []string `json:"against"`
	Do       []string `json:"do"`
	Rules    []string `json:"rules"`
}

// BoardSpan is the time in which a verdict held. From and To are parts of the
// hour before the moment, 0 to 1.
type BoardSpan struct {
	Key    string  `json:"key"` // tells it from others; When changes at midnight
	ID     string  `json:"id"`
	Server string  `json:"server"`
	Title  string  `json:"title"`
	Cost   string  `json:"cost"`
	When   string  `json:"when"`
	Lasted string  `json:"lasted"`
	Holds  bool    `json:"holds"`
	From   float64 `json:"from"`
	To     float64 `json:"to"`
}

// BoardSession is a session that does something, or holds up others.
type BoardSession struct {
	Server   string `json:"server"`
	ID       string `json:"id"`
	User     string `json:"user"`
	Client   string `json:"client"`
	Database string `json:"database"`
	Does     string `json:"does"`
	Wait     string `json:"wait"`
	For      string `json:"for"`
	InTx     string `json:"in_tx"`
	WaitsFor string `json:"waits_for"`
	Text     string `json:"text"`
}

// BoardStatement is what a statement cost in the last minute, or since watching began.
type BoardStatement struct {
	Server   string `json:"server"`
	ID       string `json:"-"`   // as the server has it: it is asked for by the key
	Key      string `json:"key"` // by which its plan is asked for; "": it has none
	Database string `json:"database"`
	Share    string `json:"share"`
	Calls    string `json:"calls"`
	Each     string `json:"each"`
	Touched  string `json:"touched"`
	Rows     string `json:"-"` // of what it touched, by which it can be listed
	Bytes    string `json:"-"` // likewise
	Change   string `json:"change"`
	Over     string `json:"over"` // what it is about: "minute", "20 s"
	Text     string `json:"text"`
	// Places are where it stands among all of the board, 0 for the first, in each order.
	Places map[watch.Order]int `json:"places"`
}

// By lists the statements in an order, those of each server together.
func (b Board) By(o watch.Order) []BoardStatement {
	return slices.SortedFunc(slices.Values(b.Statements), func(x, y BoardStatement) int { return cmp.Compare(x.Places[o], y.Places[o]) })
}

// BoardIndex is an index that is redundant, or was not read.
type BoardIndex struct {
	Server string `json:"server"`
	Name   string `json:"name"` // with its table and database
	Why    string `json:"why"`
}

// BoardUnknown is a verdict that cannot be told.
type BoardUnknown struct {
	Server string `json:"server"`
	ID     string `json:"id"`
	Why    string `json:"why"`
}

// What one value of a board holds at most. Statements are cut by the server, too.
const mostRunes = 1000

// Plain is a text that others wrote, on one line and without what could drive a
// terminal, reorder the line, or take another width than it seems to.
func Plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Variation_Selector, r):
			return -1
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return '?'
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return cut(page.Clean(s), mostRunes)
}

// MakeBoard writes a moment for people.
func MakeBoard(m watch.Moment, cat *catalog.Catalog) Board {
	b := Board{At: m.At.UTC(), Clock: m.At.UTC().Format(time.TimeOnly) + " UTC", Hostname: Plain(m.Hostname), Window: m.Window.Seconds()}
	b.Servers = each(m.Servers, func(s watch.Server) BoardServer { return boardServer(m, s) })
	slices.SortStableFunc(b.Servers, func(x, y BoardServer) int { return cmp.Compare(x.rank(), y.rank()) })
	b.Tree = each(m.Tree, func(n watch.Node) BoardNode {
		return BoardNode{Plain(n.Of.String()), min(max(n.Depth, 0), 8), Plain(n.Label), each(n.Values, boardValue), Plain(n.Verdict)}
	})
	b.Verdicts = each(m.Verdicts, func(v watch.Verdict) BoardVerdict { return boardVerdict(v, m.At, cat) })
	b.Timeline = each(m.Timeline, func(s watch.Span) BoardSpan { return boardSpan(s, m.At) })
	b.Sessions, b.Statements, b.Unknown, b.Indexes = []BoardSession{}, []BoardStatement{}, []BoardUnknown{}, []BoardIndex{}
	for _, s := range m.Servers {
		b.Sessions = append(b.Sessions, each(s.Sessions, func(x series.Session) BoardSession { return boardSession(s, x) })...)
		b.Statements = append(b.Statements, boardStatements(s, len(b.Statements))...)
		b.Indexes = append(b.Indexes, boardIndexes(s)...)
		b.Unknown = append(b.Unknown, each(s.Unknown, func(u watch.UnknownVerdict) BoardUnknown {
			return BoardUnknown{Plain(s.Ref.String()), Plain(u.ID), Plain(missing(u, s.Ref))}
		})...)
	}
	b.Over = lasted(time.Minute)
	if len(b.Statements) > 0 {
		b.Over = b.Statements[0].Over
	}
	b.Gaps = plains(gapLines(m.Gaps))
	return b
}

func boardValue(r watch.Rate) BoardValue {
	return BoardValue{Plain(r.Label), page.Finite(r.Value), Plain(valueText(r))}
}

// rank puts servers first that something holds back, and last those that say nothing.
func (s BoardServer) rank() int {
	switch {
	case s.Limited():
		return 0
	case s.Up:
		return 1
	}
	return 2
}

// Limited tells whether something holds the server back: one that has little to
// do is not held back.
func (s BoardServer) Limited() bool { return s.Limit != "" && s.Limit != watch.Idle }

// boardServer says what limits a server: the first of its verdicts.
func boardServer(m watch.Moment, s watch.Server) BoardServer {
	out := BoardServer{Ref: Plain(s.Ref.String()), Title: Plain(s.Title), Up: s.Up, Load: active(s, m.Window), Rates: each(s.Rates, boardValue)}
	if s.Active != nil {
		out.Active = page.Known(*s.Active)
	}
	out.Classes = each(s.Classes, func(c watch.Share) BoardClass {
		return BoardClass{Plain(string(c.Class)), page.Finite(c.Of.Value), interval(c.Of)}
	})
	out.Ruled = each(s.Ruled, func(r watch.Ruled) string { return Plain(strings.TrimSuffix(r.ID+": "+inWords(r.Why), ": ")) })
	raised := of(m.Verdicts, s.Ref)
	switch {
	case len(raised) > 0:
		v := raised[0]
		out.Limit, out.Now = Plain(v.ID), Plain(v.Title)
		out.Detail = costSince(v, m.At, since(v.Since, m.At))
	case !s.Up:
		out.Now = "Nothing was read from it in this window."
	default:
		out.Now = strings.Replace(nothing(s), ": see unknown below", "", 1) // it stands elsewhere
	}
	return out
}

// cost says how much of the active time a verdict takes.
func cost(id string, share *watch.Interval) string {
	switch {
	case id == watch.Idle:
		return "costs nothing"
	case share == nil:
		return "share of the active time not known"
	}
	return interval(*share) + " of the active time"
}

// costThen says what a verdict costs, and of one that the newest window does not show, when that was.
func costThen(v watch.Verdict, at time.Time) string {
	if v.Until.IsZero() {
		return cost(v.ID, v.Share)
	}
	return cost(v.ID, v.Share) + ", last seen at " + clock(v.Until, at)
}

// costSince says what a verdict costs, unless that is nothing, and since when.
func costSince(v watch.Verdict, at time.Time, when string) string {
	if v.ID == watch.Idle {
		return "since " + when
	}
	return costThen(v, at) + " · since " + when
}

func since(from, at time.Time) string {
	return clock(from, at) + ", " + units.Planned(max(0, at.Sub(from)))
}

// clock writes a time as it is read at another one, in UTC: with its day where that is another day.
func clock(t, at time.Time) string {
	t, at = t.UTC(), at.UTC()
	if t.Format(time.DateOnly) == at.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format("2 Jan 15:04")
}

func plains(all []string) []string { return each(all, Plain) }

func boardVerdict(v watch.Verdict, at time.Time, cat *catalog.Catalog) BoardVerdict {
	out := BoardVerdict{ID: Plain(v.ID), Server: Plain(v.Server.String()), Title: Plain(v.Title), Cost: costThen(v, at), Since: clock(v.Since, at) + " UTC",
		Say: Plain(v.Say), Because: Plain(strings.Join(v.Causes, ", ")), Causes: Plain(strings.Join(v.Effects, ", ")), Evidence: []string{},
		Do: plains(v.Do), Rules: plains(v.Rules)}
	for _, e := range v.Evidence {
		out.Evidence = append(out.Evidence, Plain(evidence(cat, e)))
	}
	out.Against = each(v.Against, func(a watch.Against) string { return Plain(against(a)) })
	return out
}

func boardSpan(s watch.Span, at time.Time) BoardSpan {
	to, holds := s.To, s.To.IsZero()
	if holds {
		to = at
	}
	out := BoardSpan{Key: Plain(s.ID + " " + s.Server.String() + " " + s.From.UTC().Format(time.RFC3339Nano)), ID: Plain(s.ID), Server: Plain(s.Server.String()), Title: Plain(s.Title), Cost: cost(s.ID, s.Share), Holds: holds, Lasted: units.Planned(max(0, to.Sub(s.From))),
		From: ofHour(s.From, at), To: ofHour(to, at), When: clock(s.From, at) + " to "}
	if holds {
		out.When += "now"
	} else {
		out.When += clock(s.To, at)
	}
	return out
}

// ofHour is where a time lies in the hour before at.
func ofHour(t, at time.Time) float64 { return min(1, max(0, 1-at.Sub(t).Hours())) }
