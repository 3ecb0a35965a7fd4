package watch

import (
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/watch"
)

// WatchJSON is what limits the servers of a host at one moment.
type WatchJSON struct {
	Version  int            `json:"version"`  // of this document: 1
	At       time.Time      `json:"at"`       // UTC
	Window   float64        `json:"window_s"` // seconds over which rates and means are
	Hostname string         `json:"hostname"`
	Servers  []WatchServer  `json:"servers"`
	Verdicts []WatchVerdict `json:"verdicts"` // those raised, the limit first
	Timeline []WatchSpan    `json:"timeline"` // verdicts raised in the last hour, oldest first
	Tree     []WatchNode    `json:"tree"`     // each server and what it stands on, top down
	Gaps     []WatchGap     `json:"gaps"`     // what cannot be seen
}

// WatchServer is one server.
type WatchServer struct {
	Ref        stack.Ref        `json:"ref"`
	Product    string           `json:"product"` // mysql, mariadb, percona, postgres, mongodb
	Title      string           `json:"title"`
	Up         bool             `json:"up"`               // something of it was read in the window
	Active     *float64         `json:"active,omitempty"` // active sessions on average; not there: not known
	Classes    []WatchShare     `json:"classes"`
	Rates      []WatchRate      `json:"rates"`
	Sessions   []WatchSession   `json:"sessions"`
	Statements []WatchStatement `json:"statements"`        // those of the last minute, or of the span that was asked for, the most expensive first unless another order was; no literals
	Plans      []WatchPlan      `json:"plans"`             // of the statements whose plans were asked for
	Indexes    *WatchIndexes    `json:"indexes,omitempty"` // that are redundant or were not read; not there: not asked for
	Ruled      []WatchRuled     `json:"ruled_out"`
	Brief      []string         `json:"brief,omitempty"` // verdicts that hold in this window, and have not in three of the last five
	Unknown    []WatchUnknown   `json:"unknown"`
}

// WatchInterval is a number with its 95 % interval.
type WatchInterval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// WatchShare is the share of a server's active time in one class.
type WatchShare struct {
	Class string        `json:"class"` // cpu, read, write, log, lock, latch, replica, other, unknown
	Of    WatchInterval `json:"share"` // 0 to 1
}

// WatchRate is a number of a server or of what it stands on.
type WatchRate struct {
	Name  string  `json:"name"`
	Label string  `json:"label"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // rate, bytes, bytes/s, ratio, us, s, float, int
}

// WatchSession is a session that does something, or holds up others.
type WatchSession struct {
	ID        int64   `json:"id"`
	User      string  `json:"user"`
	Client    string  `json:"client"`
	Database  string  `json:"database"`
	Active    bool    `json:"active"`
	Class     string  `json:"class"`
	Wait      string  `json:"wait"`    // as the server names it
	For       float64 `json:"for_s"`   // seconds in this statement, or idle
	InTx      float64 `json:"in_tx_s"` // age of its transaction in seconds; 0: in none, or not known
	Statement string  `json:"statement"`
	Text      string  `json:"text"` // without literals
	BlockedBy []int64 `json:"blocked_by"`
}

// WatchStatement is what one statement cost in the last minute, since watching began, or in the span that was asked for.
type WatchStatement struct {
	ID          string   `json:"id"`
	Database    string   `json:"database"`
	Text        string   `json:"text"` // without literals
	Calls       float64  `json:"calls"`
	Seconds     float64  `json:"seconds"`
	Over        float64  `json:"over_s"` // seconds that this is about
	Share       float64  `json:"share"`  // of the time of all statements, 0 to 1
	Examined    *float64 `json:"examined,omitempty"`
	Returned    *float64 `json:"returned,omitempty"`
	Bytes       *float64 `json:"bytes,omitempty"`
	SlowerCalls *float64 `json:"slower_calls_s,omitempty"` // seconds more than in the minute before, or the span it is compared with, because each call takes longer
	MoreCalls   *float64 `json:"more_calls_s,omitempty"`   // seconds more because there are more calls
	Rest        bool     `json:"rest"`                     // all that are not listed
}

// WatchPlan is how a server carries out a statement, by its own account. It holds
// no condition and no constant.
type WatchPlan struct {
	Statement string          `json:"statement"` // its id
	By        string          `json:"by"`        // what was explained
	Steps     []WatchPlanStep `json:"steps"`     // from the outside in
	Why       string          `json:"why"`       // why there is none
	Hint      string          `json:"hint"`
}

// WatchPlanStep is one step of a plan.
type WatchPlanStep struct {
	Depth int      `json:"depth"`
	Does  string   `json:"does"`
	Rows  *float64 `json:"rows,omitempty"` // that the server expects
	Cost  *float64 `json:"cost,omitempty"` // in the server's own unit
	Mark  bool     `json:"mark"`           // it reads all rows, or sorts or keeps them aside
}

// WatchIndexes are the indexes that are redundant or were not read.
type WatchIndexes struct {
	List []WatchIndex `json:"list"`
	Why  string       `json:"why"` // why it is not known of all
	Hint string       `json:"hint"`
}

// WatchIndex is one of them: nothing reads it, or another one does its work.
type WatchIndex struct {
	Database string     `json:"database"`
	Table    string     `json:"table"`
	Name     string     `json:"name"`
	Unread   bool       `json:"unread"`
	Since    *time.Time `json:"since,omitempty"` // nothing has read it since then
	DoneBy   string     `json:"covered_by"`      // the index that does its work too
}

// WatchVerdict is a limit that holds a server back.
type WatchVerdict struct {
	ID       string          `json:"id"`
	Server   stack.Ref       `json:"server"`
	Things   []stack.Ref     `json:"things"`
	Title    string          `json:"title"`
	Say      string          `json:"say"`
	Share    *WatchInterval  `json:"share,omitempty"` // of the server's active time; not there: not known
	Evidence []WatchEvidence `json:"evidence"`
	Against  []WatchAgainst  `json:"against"`
	Causes   []string        `json:"causes"` // verdicts raised now that bring it about
	Effects  []string        `json:"effects"`
	Rules    []string        `json:"rules"`
	Do       []string        `json:"do"`
	Since    time.Time       `json:"since"`
	Until    *time.Time      `json:"until,omitempty"` // when it was last so, if that is not the newest window; all but since is of then
}

// WatchEvidence is a fact that decided.
type WatchEvidence struct {
	Of    stack.Ref   `json:"of"`
	Name  string      `json:"name"`
	Value stack.Value `json:"value"`
	Shown string      `json:"shown"` // with its unit
}

// WatchAgainst is a piece of counter-evidence that was looked for.
type WatchAgainst struct {
	Says  string `json:"says"`
	Holds string `json:"holds"` // fires: it speaks against the verdict; quiet; unknown
}

// WatchRuled is a verdict that does not hold.
type WatchRuled struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// WatchUnknown is a verdict that nobody can tell.
type WatchUnknown struct {
	ID      string         `json:"id"`
	Missing []WatchMissing `json:"missing"`
}

// WatchMissing is a fact that would decide.
type WatchMissing struct {
	Of   stack.Ref `json:"of"`
	Name string    `json:"name"`
	Why  string    `json:"why"`
	Hint string    `json:"hint"`
}

// WatchSpan is the time in which a verdict held.
type WatchSpan struct {
	ID     string         `json:"id"`
	Server stack.Ref      `json:"server"`
	Things []stack.Ref    `json:"things"`
	Title  string         `json:"title"`
	Share  *WatchInterval `json:"share,omitempty"` // the largest
	From   time.Time      `json:"from"`
	To     *time.Time     `json:"to,omitempty"` // not there: it goes on
}

// WatchNode is one thing of the stack with its live values.
type WatchNode struct {
	Of      stack.Ref   `json:"of"`
	Depth   int         `json:"depth"`
	Label   string      `json:"label"`
	Values  []WatchRate `json:"values"`
	Verdict string      `json:"verdict"` // id of a verdict raised about it
}

// WatchGap is something that cannot be seen.
type WatchGap struct {
	Of   string `json:"of"`   // kind:name; "" for all that a source reads
	Name string `json:"name"` // "" for all of that thing
	Why  string `json:"why"`
	Hint string `json:"hint"`
}

// Document is the same for programs.
func Document(m watch.Moment, cat *catalog.Catalog) WatchJSON {
	d := WatchJSON{Version: m.Version, At: m.At, Window: m.Window.Seconds(), Hostname: m.Hostname}
	d.Servers = each(m.Servers, serverJSON)
	d.Verdicts = each(m.Verdicts, func(v watch.Verdict) WatchVerdict { return verdictJSON(v, cat) })
	d.Timeline = each(m.Timeline, spanJSON)
	d.Tree = each(m.Tree, func(n watch.Node) WatchNode {
		return WatchNode{n.Of, n.Depth, n.Label, each(n.Values, rateJSON), n.Verdict}
	})
	d.Gaps = each(m.Gaps, gapJSON)
	return d
}

// each makes a list that is written as [] when it is empty.
func each[A, B any](all []A, of func(A) B) []B {
	out := make([]B, 0, len(all))
	for _, a := range all {
		out = append(out, of(a))
	}
	return out
}

func intervalJSON(i *watch.Interval) *WatchInterval {
	if i == nil {
		return nil
	}
	return &WatchInterval{page.Finite(i.Value), page.Finite(i.Low), page.Finite(i.High)}
}

func rateJSON(r watch.Rate) WatchRate {
	return WatchRate{r.Name, r.Label, page.Finite(r.Value), r.Unit}
}

func serverJSON(s watch.Server) WatchServer {
	return WatchServer{Ref: s.Ref, Product: s.Product, Title: s.Title, Up: s.Up, Active: s.Active,
		Classes: each(s.Classes, func(c watch.Share) WatchShare { return WatchShare{string(c.Class), *intervalJSON(&c.Of)} }),
		Rates:   each(s.Rates, rateJSON), Sessions: each(s.Sessions, sessionJSON), Statements: each(s.Statements, statementJSON),
		Plans: each(s.Plans, planJSON), Indexes: indexesJSON(s.Indexes),
		Ruled: each(s.Ruled, func(r watch.Ruled) WatchRuled { return WatchRuled(r) }), Brief: each(s.Brief, strings.Clone),
		Unknown: each(s.Unknown, func(u watch.UnknownVerdict) WatchUnknown {
			return WatchUnknown{u.ID, each(u.Missing, func(m rule.Missing) WatchMissing { return WatchMissing(m) })}
		})}
}

func sessionJSON(s series.Session) WatchSession {
	return WatchSession{ID: s.ID, User: s.User, Client: s.Client, Database: s.Database, Active: s.Active, Class: string(s.Class), Wait: s.Wait,
		For: s.For.Seconds(), InTx: s.InTx.Seconds(), Statement: s.Statement, Text: s.Text, BlockedBy: page.NotNil(s.BlockedBy)}
}

func statementJSON(s watch.StatementChange) WatchStatement {
	return WatchStatement{ID: s.ID, Database: s.Database, Text: s.Text, Calls: s.Calls, Seconds: s.Seconds, Over: s.Over.Seconds(), Share: page.Finite(s.Share),
		Examined: s.Examined, Returned: s.Returned, Bytes: s.Bytes, SlowerCalls: s.SlowerCalls, MoreCalls: s.MoreCalls, Rest: s.Rest}
}

func planJSON(p series.Plan) WatchPlan {
	return WatchPlan{p.Statement, p.By, each(p.Steps, func(s series.PlanStep) WatchPlanStep { return WatchPlanStep(s) }), p.Why, p.Hint}
}

func indexesJSON(i *watch.Indexes) *WatchIndexes {
	if i == nil {
		return nil
	}
	return &WatchIndexes{each(i.List, func(x series.Index) WatchIndex {
		out := WatchIndex{Database: x.Database, Table: x.Table, Name: x.Name, Unread: x.Unread, DoneBy: x.DoneBy}
		if !x.Since.IsZero() {
			out.Since = &x.Since
		}
		return out
	}), i.Why, i.Hint}
}

func verdictJSON(v watch.Verdict, cat *catalog.Catalog) WatchVerdict {
	var until *time.Time
	if !v.Until.IsZero() {
		until = &v.Until
	}
	return WatchVerdict{ID: v.ID, Server: v.Server, Things: page.NotNil(v.Things), Title: v.Title, Say: v.Say, Share: intervalJSON(v.Share),
		Evidence: each(v.Evidence, func(e rule.Evidence) WatchEvidence {
			return WatchEvidence{e.Of, e.Name, e.Fact.Value, shown(cat, e)}
		}),
		Against: each(v.Against, func(a watch.Against) WatchAgainst { return WatchAgainst{a.Says, string(a.Holds)} }),
		Causes:  page.NotNil(v.Causes), Effects: page.NotNil(v.Effects), Rules: page.NotNil(v.Rules), Do: page.NotNil(v.Do), Since: v.Since, Until: until}
}

func spanJSON(s watch.Span) WatchSpan {
	out := WatchSpan{ID: s.ID, Server: s.Server, Things: page.NotNil(s.Things), Title: s.Title, Share: intervalJSON(s.Share), From: s.From}
	if !s.To.IsZero() {
		out.To = &s.To
	}
	return out
}

func gapJSON(g series.Gap) WatchGap {
	out := WatchGap{Name: g.Name, Why: g.Why, Hint: g.Hint}
	if g.Of != (stack.Ref{}) {
		out.Of = g.Of.String()
	}
	return out
}
