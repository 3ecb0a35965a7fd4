package rule

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"plumb/internal/stack"
)

// Limit is something that can hold a server back: a full device, a quota, a
// lock. It is judged as a rule is, over what is known of a window of time, and
// besides tells its share of the server's active time and what speaks against it.
// What is exported is not changed after loading.
type Limit struct {
	ID      string // its path, without .yaml
	File    string
	Title   string              // as written, with {expressions}
	Servers []string            // kinds of server it can hold back
	For     map[string][]string // bindings, as written, by kind of server
	When    map[string]string   // CEL, by kind of server
	Share   map[string]string   // CEL, by kind of server; none where nothing tells it
	Explain string
	Against []WrittenObjection
	Causes  []string // limits that bring it about
	Rules   []string // what says the same of the settings
	Do      []string // as written, with {expressions}
	Sources []string

	kinds []*limitOf
}

// WrittenObjection is a piece of counter-evidence as it is written.
type WrittenObjection struct {
	Says string
	When map[string]string // CEL, by kind of server
}

// limitOf is a limit of one kind of server, ready to judge.
type limitOf struct {
	Rule
	objections []objection
	share      *expression
	do         []*template
}

// objection is a piece of counter-evidence.
type objection struct {
	says *template
	when *expression
	nth  int // of those that are written
}

// Server is the variable that stands for the server in every limit.
const Server = "db"

// Limited is what one limit says of one server and the things bound with it.
type Limited struct {
	Limit   *Limit
	Server  stack.Ref
	Things  []stack.Ref // the others that were bound
	Outcome Outcome
	Title   string // fires only, as all that follows but Missing and Why
	Say     string
	Do      []string
	// Share is of the server's active time; Low and High are its interval where
	// one is known. nil: not known.
	Share, Low, High *float64
	Evidence         []Evidence
	Objections       []Objection
	Missing          []Missing // unknown only
	Why              string    // quiet only: the facts that rule it out
	Err              error
}

// Objection is a piece of counter-evidence: it was looked for.
type Objection struct {
	Says  string
	Holds Outcome
}

// Judge asks about every server of the stack, in the order of servers and things.
func (l *Limit) Judge(s *stack.Stack) []Limited {
	var out []Limited
	for _, k := range l.kinds {
		if len(s.OfKind(k.For[0].Kind)) == 0 {
			continue
		}
		for _, c := range k.combinations(s) {
			v := k.limited(l, c)
			explain(v.Missing, s)
			out = append(out, v)
		}
	}
	return out
}

// limited asks about one combination of things.
func (k *limitOf) limited(l *Limit, c combination) Limited {
	v, details := k.judgeBy(c, true)
	out := Limited{Limit: l, Server: v.Things[0], Things: v.Things[1:], Outcome: v.Outcome, Missing: v.Missing, Err: v.Err}
	switch v.Outcome {
	case Quiet:
		out.Why = k.ruledOutBy(c.things, details)
	case Fires:
		out.Title, out.Say, out.Evidence = v.Title, k.say.told(c.things), k.when.evidence(c.things, details)
		for _, t := range k.do {
			out.Do = append(out.Do, t.render(c.things))
		}
		for _, o := range k.objections {
			holds, _, _ := o.when.holds(c.things)
			out.Objections = append(out.Objections, Objection{o.says.render(c.things), holds})
		}
		out.Share, out.Low, out.High = k.shareOf(c.things)
	}
	return out
}

// The endings of the facts that are the interval of a share.
const (
	lowOf  = "_low"
	highOf = "_high"
)

// shareOf computes the share; its interval where it is a fact that has one, or chooses between such facts.
func (k *limitOf) shareOf(b things) (value, low, high *float64) {
	if k.share == nil {
		return nil, nil, nil
	}
	v, err := k.share.value(b)
	n, isNumber := v.Number()
	if err != nil || !isNumber {
		return nil, nil, nil
	}
	for _, f := range k.share.uses {
		if f.fact == nil || b[f.name] == nil {
			continue
		}
		is, known := b[f.name].Number(f.fact.Name)
		l, hasLow := b[f.name].Number(f.fact.Name + lowOf)
		h, hasHigh := b[f.name].Number(f.fact.Name + highOf)
		if known && is == n && hasLow && hasHigh {
			return &n, &l, &h
		}
	}
	return &n, nil, nil
}

// ruledOutBy names the facts for which a condition does not hold, with their
// values.
func (k *limitOf) ruledOutBy(b things, details *cel.EvalDetails) string {
	if details == nil || details.State() == nil {
		return ""
	}
	blamed := map[int64]bool{}
	l := lack{details: details}
	l.blame(k.when.ast.NativeRep().Expr(), blamed)
	return k.named(b, func(u use) bool { return blamed[u.id] })
}

// blame collects the nodes of the parts that fail. Of parts joined by && those
// that fail decide, of those joined by || all do. A part about a fact that is absent fails.
func (l lack) blame(x ast.Expr, blamed map[int64]bool) {
	if x.Kind() == ast.CallKind {
		switch name := x.AsCall().FunctionName(); name {
		case operators.LogicalAnd, operators.LogicalOr:
			for _, a := range x.AsCall().Args() {
				v, _ := l.details.State().Value(a.ID())
				if name == operators.LogicalOr || v == types.False || isAbsent(v) {
					l.blame(a, blamed)
				}
			}
			return
		}
	}
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(n ast.Expr) { blamed[n.ID()] = true }))
}

// Fits tells whether the limit can hold back servers of a kind.
func (l *Limit) Fits(kind string) bool { return slices.Contains(l.Servers, kind) }
