package advise

import (
	"cmp"
	"maps"
	"slices"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// Foretold says when to ask again about one server: what rules judge by the
// load it then carries, once the plan is followed.
type Foretold struct {
	Server  stack.Ref
	Idle    bool     // next to nothing was asked of it
	Young   bool     // it started less than a minute ago, and its counters tell little yet
	Restart bool     // the plan restarts it, and its counters begin anew
	About   []string // what is judged, such as "WAL"; sorted
	Rules   []string // rules that may then advise, which they do not now; worst first
}

// Judge asks all rules about a stack.
type Judge func(*stack.Stack) []rule.Evaluation

// Foretell finds the rules that may have more to say once the plan is
// followed. Each is asked about the host as the plan makes it, with nothing
// known of the load: one that is then unknown for that alone, and does not
// fire today, waits. What another rule has decided already, or what the plan
// decides, keeps it quiet. Notes are not foretold. Of a server that works, and
// that the plan neither restarts nor makes faster, nothing is foretold: what it
// does is judged already.
func Foretell(judge Judge, now []rule.Evaluation, a Advice, s *stack.Stack, cat *catalog.Catalog) []Foretold {
	restarts := map[stack.Ref]bool{} // by server of which little was counted, or that the plan changes: whether the plan restarts it
	for _, t := range s.Things {
		if idle(t) || young(t) {
			restarts[t.Ref] = false
		}
	}
	for _, step := range a.Plan.Steps {
		t := s.Find(step.Knob.Of)
		if t != nil && hasLoad(cat, t.Ref.Kind) && (step.Effect == catalog.Restart || a.forSpeed(step)) {
			restarts[t.Ref] = restarts[t.Ref] || step.Effect == catalog.Restart
		}
	}
	if len(restarts) == 0 {
		return nil
	}
	var out []Foretold
	then := judge(followed(a.Plan, s, cat, restarts))
	slices.SortStableFunc(then, func(v, o rule.Evaluation) int {
		return cmp.Or(cmp.Compare(harmRank(v.Rule.Harm), harmRank(o.Rule.Harm)), cmp.Compare(gainRank(v.Rule.Gain), gainRank(o.Rule.Gain)), cmp.Compare(v.Rule.ID, o.Rule.ID))
	})
	for _, server := range slices.SortedFunc(maps.Keys(restarts), stack.Ref.Compare) {
		f := Foretold{Server: server, Restart: restarts[server], Idle: idle(s.Find(server)), Young: young(s.Find(server))}
		for _, v := range then {
			if v.Rule.Harm == rule.Note || !slices.Contains(v.Things, server) || firesNow(now, v) {
				continue
			}
			if about := WaitsFor(v, cat); len(about) > 0 {
				f.About = append(f.About, about...)
				f.Rules = append(f.Rules, v.Rule.ID)
			}
		}
		slices.Sort(f.About)
		f.About, f.Rules = slices.Compact(f.About), slices.Compact(f.Rules)
		if len(f.Rules) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// idleRate is the requests a second below which a server is idle. A check itself
// asks some tens of questions.
const idleRate = 20

// fewClients is how many may be busy on a server that is idle; one is the check.
const fewClients = 3

// young reports whether a server started so recently that what it has counted
// says nothing of its load.
func young(t *stack.Thing) bool {
	up, known := t.Int("uptime")
	return known && up < 60
}

// idle reports whether a server does next to nothing, as far as its counters and
// the clients it serves now tell.
func idle(t *stack.Thing) bool {
	for _, busy := range []string{"connections_active", "threads_running", "wal_clients_busy"} {
		if n, known := t.Number(busy); known && n > fewClients {
			return false
		}
	}
	if young(t) {
		return false // not known yet
	}
	for _, rate := range []string{"queries_per_second", "transactions_per_second"} {
		if n, known := t.Number(rate); known {
			return n < idleRate
		}
	}
	return false
}

// forSpeed reports whether a rule about speed asks for a step.
func (a Advice) forSpeed(step Step) bool {
	return slices.ContainsFunc(a.Findings, func(f Finding) bool { return f.Rule.Harm == rule.Slow && slices.Contains(step.Why, f.Rule.ID) })
}

// window marks facts that say over how long the load was counted.
const window = "time"

// WaitsFor gives what of the load a verdict waits for; nothing when it is
// known, or waits for anything else too.
func WaitsFor(v rule.Evaluation, cat *catalog.Catalog) (about []string) {
	if v.Outcome != rule.Unknown || v.Err != nil {
		return nil
	}
	for _, m := range v.Missing {
		f := cat.Fact(m.Of.Kind, m.Name)
		if f == nil || f.Load == "" || m.Why != "" { // with a reason: this version does not tell it, or not this user
			return nil
		}
		if f.Load != window {
			about = append(about, f.Load)
		}
	}
	return about
}

// followed gives the host as the plan makes it, with nothing known of the load
// of the servers that it is about.
func followed(plan Plan, s *stack.Stack, cat *catalog.Catalog, servers map[stack.Ref]bool) *stack.Stack {
	then := s.Clone()
	for _, step := range plan.Steps {
		if t := then.Find(step.Knob.Of); t != nil {
			t.Set(step.Knob.Name, step.To, "the plan")
		}
	}
	for server := range servers {
		Unloaded(then.Find(server), cat)
	}
	return then
}

// Unloaded forgets what a server's load told, as its next start does.
func Unloaded(server *stack.Thing, cat *catalog.Catalog) {
	for name, fact := range server.Facts {
		f := cat.Fact(server.Ref.Kind, name)
		if f != nil && f.Load != "" && (!fact.Value.IsAbsent() || f.Idle) {
			delete(server.Facts, name)
		}
	}
}

// firesNow reports whether a rule fires already where a later verdict is about.
func firesNow(now []rule.Evaluation, later rule.Evaluation) bool {
	return slices.ContainsFunc(now, func(v rule.Evaluation) bool {
		return v.Rule == later.Rule && v.Outcome == rule.Fires && slices.Equal(v.Things, later.Things)
	})
}

func hasLoad(cat *catalog.Catalog, kind string) bool {
	k := cat.Kinds[kind]
	if k == nil {
		return false
	}
	for _, f := range k.Facts {
		if f.Load != "" {
			return true
		}
	}
	return false
}
