package rule

import (
	"slices"

	"cel.dev/cel-go/cel"

	"plumb/internal/stack"
)

// Base is a set of rules, ready to judge. It is safe for concurrent use.
type Base struct {
	rules []*Rule
	byID  map[string]*Rule
}

// Rules gives all rules, sorted by id.
func (b *Base) Rules() []*Rule { return slices.Clone(b.rules) }

// Rule finds a rule by id; nil when there is none.
func (b *Base) Rule(id string) *Rule { return b.byID[id] }

// With gives a base that has the rules of another too.
func (b *Base) With(other *Base) *Base { return newBase(slices.Concat(b.rules, other.rules)) }

// Judge asks every rule about every combination of things it binds. Evaluations
// come sorted by rule, then by things. A rule that concerns nothing on this
// host gives no verdict.
func (b *Base) Judge(s *stack.Stack) []Evaluation {
	return b.ask(func(r *Rule) []Evaluation { return r.verdicts(s) })
}

// ask asks all rules, several at a time, and gives their answers in the order of the rules.
func (b *Base) ask(one func(*Rule) []Evaluation) []Evaluation {
	of := make([][]Evaluation, len(b.rules))
	each(len(b.rules), func(i int) { of[i] = one(b.rules[i]) })
	return slices.Concat(of...)
}

// verdicts judges every combination of things the rule binds.
func (r *Rule) verdicts(s *stack.Stack) []Evaluation {
	var out []Evaluation
	for _, c := range r.combinations(s) {
		v := r.judge(c)
		explain(v.Missing, s)
		out = append(out, v)
	}
	return out
}

// explain adds why facts are missing.
func explain(missing []Missing, s *stack.Stack) {
	for i, m := range missing {
		if g, ok := s.GapFor(m.Of, m.Name); ok {
			missing[i].Why, missing[i].Hint = g.Why, g.Hint
		}
	}
}

// judge asks the rule about one combination.
func (r *Rule) judge(c combination) Evaluation {
	v, _ := r.judgeBy(c, false)
	if v.Outcome == Fires {
		_, details, _ := r.when.run(r.when.tracked, c.things)
		v.Evidence = r.when.evidence(c.things, details)
	}
	return v
}

// judgeBy asks without collecting evidence. tracked: it is remembered what was
// evaluated, which is slower, but is enough to say why.
func (r *Rule) judgeBy(c combination, tracked bool) (v Evaluation, details *cel.EvalDetails) {
	v = Evaluation{Rule: r, Things: r.refs(c.things), Outcome: Unknown}
	if v.Err = prepared(r.ready); v.Err != nil {
		return v, nil
	}
	if tracked {
		v.Outcome, v.Missing, details, v.Err = r.when.holdsBy(c.things)
	} else {
		v.Outcome, v.Missing, v.Err = r.when.holds(c.things)
	}
	if len(c.missing) > 0 && v.Outcome != Quiet {
		v.Outcome, v.Missing, v.Err = Unknown, slices.Clone(c.missing), nil
		v.Doubts = r.doubts(c.things)
	}
	if old := r.tooOld(c.things); len(old) > 0 && v.Outcome != Quiet {
		v.Outcome, v.Missing, v.Err = Unknown, old, nil
	}
	if v.Outcome != Fires {
		return v, details
	}
	if err := prepared(r.speak); err != nil {
		v.Outcome, v.Err = Unknown, err
		return v, details
	}
	v.Title = r.title.render(c.things)
	v.Say = r.say.render(c.things)
	v.Remedies = r.remediesFor(c.things)
	return v, details
}
