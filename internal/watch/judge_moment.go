package watch

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/rule"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Version is that of the form of a moment.
const Version = 1

// Moment is what is said at a moment, from the newest window before it. Before
// the first window there are no servers, and a gap says so.
func (j *Judge) Moment(at time.Time) Moment {
	j.mu.Lock()
	defer j.mu.Unlock()
	m := Moment{Version: Version, At: at.UTC(), Window: Length}
	if j.now == nil {
		m.Gaps = append(m.Gaps, series.Gap{Why: "no window of " + units.Span(Length) + " is complete yet"})
		return m
	}
	w := j.now
	if h := w.stack.Host(); h != nil {
		m.Hostname = h.Text("hostname")
	}
	m.Gaps = slices.Clone(w.gaps)
	m.Verdicts = j.verdicts(w)
	for _, kind := range product.Kinds() {
		for _, db := range w.stack.OfKind(kind) {
			m.Servers = append(m.Servers, j.serverNow(w, db))
			m.Gaps = append(m.Gaps, j.statementGaps(db.Ref)...)
			m.Tree = append(m.Tree, j.tree(w, db, m.Verdicts)...)
		}
	}
	m.Timeline = j.timeline()
	return m
}

// Known tells until when windows were judged; zero before the first.
func (j *Judge) Known() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.now == nil {
		return time.Time{}
	}
	return j.now.to
}

// verdicts lists those that are raised: limits before what they look like from
// above, then the most expensive first.
func (j *Judge) verdicts(w *judged) []Verdict {
	raised := map[key]bool{}
	for k, st := range j.standing {
		raised[k] = st.raised
	}
	var out []Verdict
	for k, st := range j.standing {
		if !st.raised {
			continue
		}
		v := Verdict{ID: k.id, Server: k.server, Things: slices.Clone(st.things), Title: st.best.Title, Say: st.best.Say, Share: intervalOf(st.best),
			Evidence: st.best.Evidence, Rules: rulesFor(k.server, st.best.Limit.Rules), Do: st.best.Do, Since: st.since}
		if st.last.Before(w.to) { // it is raised until four say that it is not so, or twelve say nothing
			v.Until = st.last
		}
		for _, o := range st.best.Objections {
			v.Against = append(v.Against, Against{o.Says, o.Holds})
		}
		for _, id := range st.best.Limit.Causes {
			if raised[key{id, k.server}] {
				v.Causes = append(v.Causes, id)
			}
		}
		for _, l := range j.limits {
			if raised[key{l.ID, k.server}] && slices.Contains(l.Causes, k.id) {
				v.Effects = append(v.Effects, l.ID)
			}
		}
		out = append(out, v)
	}
	slices.SortFunc(out, order)
	return out
}

// order puts the limit first: what has no cause here before what has, what
// somebody waits for before a server that has nothing to do, the most expensive first.
func order(a, b Verdict) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(share(b), share(a)), cmp.Compare(a.ID, b.ID), a.Server.Compare(b.Server))
}

func rank(v Verdict) int {
	switch {
	case v.ID == Idle:
		return 2
	case len(v.Causes) > 0:
		return 1
	}
	return 0
}

func share(v Verdict) float64 {
	if v.Share == nil {
		return 0
	}
	return v.Share.Value
}

func (j *Judge) timeline() []Span {
	out := slices.Clone(j.over)
	for k, st := range j.standing {
		if st.raised {
			out = append(out, st.span(k, time.Time{}))
		}
	}
	slices.SortFunc(out, spanOrder)
	return out
}

// serverNow is what is known of one server.
func (j *Judge) serverNow(w *judged, db *stack.Thing) Server {
	flavor := db.Text("flavor")
	s := Server{Ref: db.Ref, Product: cmp.Or(flavor, db.Ref.Kind), Title: product.Of(db.Ref.Kind).Label(flavor), Up: w.answers(db.Ref)}
	if v := db.Text("version"); v != "" {
		s.Title += " " + v
	}
	if v, ok := db.Number("sessions_active"); ok {
		s.Active = &v
	}
	for _, class := range series.Classes {
		if i, ok := shareOf(db, string(class)); ok && i.Value > 0 {
			s.Classes = append(s.Classes, Share{class, i})
		}
	}
	for _, r := range rates {
		if v, ok := db.Number(r.name); ok {
			s.Rates = append(s.Rates, Rate{r.name, labelOf(j.cat.Fact(db.Ref.Kind, r.name), r.label), v, unitOf(j.cat, db.Ref.Kind, r.name)})
		}
	}
	if of := j.sessions[db.Ref]; of != nil {
		s.Sessions = slices.Clone(of.list)
	}
	if st := j.statements[db.Ref]; st != nil {
		s.Statements = st.changes()
	}
	j.notRaised(w, &s)
	return s
}

// statementGaps says what is missing among the statements of a server.
func (j *Judge) statementGaps(db stack.Ref) []series.Gap {
	st, f := j.statements[db], j.cat.Fact(db.Kind, forgotten)
	if st == nil || f == nil || !st.forgot() {
		return nil
	}
	return []series.Gap{{Of: db, Name: forgotten, Why: "the server removed statements from its list within the last minute (" + f.From +
		"): the cost of those and of all others is not known, and shares are of the rest"}}
}

// answers tells whether a server said something itself in the window: what its
// files take is known of one that is down, too.
func (w *judged) answers(server stack.Ref) bool {
	_, up := w.values[server]["uptime"]
	_, asked := w.values[server][sessionsActive]
	return up || asked
}

func shareOf(db *stack.Thing, class string) (Interval, bool) {
	v, ok := db.Number("share_" + class)
	low, ok2 := db.Number("share_" + class + "_low")
	high, ok3 := db.Number("share_" + class + "_high")
	return Interval{v, low, high}, ok && ok2 && ok3
}

// notRaised lists the verdicts that do not hold, those that hold only now, and those nobody can tell.
func (j *Judge) notRaised(w *judged, of *Server) {
	for _, k := range slices.SortedFunc(maps.Keys(w.said), func(a, b key) int { return cmp.Or(cmp.Compare(a.id, b.id), a.server.Compare(b.server)) }) {
		s := w.said[k]
		if k.server != of.Ref || j.standing[k] != nil && j.standing[k].raised {
			continue
		}
		switch s.outcome {
		case rule.Quiet:
			why := ""
			if len(s.quiet) > 0 {
				why = s.quiet[0].Why
			}
			of.Ruled = append(of.Ruled, Ruled{k.id, why})
		case rule.Fires:
			of.Brief = append(of.Brief, k.id)
		default:
			of.Unknown = append(of.Unknown, UnknownVerdict{k.id, s.missing})
		}
	}
}

// labelled is a number that is shown, and what it is called.
type labelled struct{ name, label string }

// rates are the numbers that a DBA knows a server by, in the order in which they
// are shown; each kind of server has some of them.
var rates = []labelled{
	{"commits_rate", "commits"}, {"questions_rate", "statements"}, {"operations_rate", "operations"},
	{"rows_read_rate", "rows read"}, {"rows_returned_rate", "rows read"}, {"rows_changed_rate", "rows changed"},
	{"buffer_pool_reads_rate", "pages read"}, {"blocks_read_rate", "pages read"}, {"cache_reads_rate", "pages read"},
	{"redo_written_rate", "log written"}, {"wal_bytes_rate", "log written"}, {"journal_bytes_rate", "log written"},
	{"threads_connected", "connections"}, {"connections_used", "connections"}, {"connections_current", "connections"},
	{"checkpoint_age", "checkpoint age"},
}

// labelOf is what a number is called. Some servers count COMMIT statements alone, and none of the statements that
// commit by themselves: "no commits" would be said of one that makes thousands.
func labelOf(f *catalog.Fact, usual string) string {
	if f != nil && f.From == "Com_commit" {
		return "COMMIT statements"
	}
	return usual
}

// unitOf is the unit of a fact of a window. A rate of bytes is shown as such.
func unitOf(cat *catalog.Catalog, kind, name string) string {
	f := cat.Fact(kind, name)
	switch {
	case f == nil:
		return ""
	case name == "bytes_moved":
		return "bytes/s"
	case strings.HasPrefix(name, "psi_") && strings.HasSuffix(name, catalog.RateOf):
		return string(catalog.Ratio) // seconds a second in which some task waited
	}
	if f.Type == catalog.Rate {
		if of := cat.Fact(kind, name[:max(0, len(name)-len(catalog.RateOf))]); of != nil && of.Type == catalog.Bytes {
			return "bytes/s"
		}
	}
	return string(f.Type)
}

// rulesFor leaves out the rules of check that are about another kind of server.
func rulesFor(server stack.Ref, ids []string) (own []string) {
	for _, id := range ids {
		if area, _, _ := strings.Cut(id, "/"); area == server.Kind || !product.IsServer(area) {
			own = append(own, id)
		}
	}
	return own
}
