package rule

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"plumb/internal/stack"
)

// Answers gives the verdicts that show that a rule has met what it is about:
// it fires, or it is quiet, and not only because something it asks for does
// not exist there.
func (b *Base) Answers(s *stack.Stack) []Evaluation {
	return b.ask(func(r *Rule) []Evaluation { return r.answers(s) })
}

func (r *Rule) answers(s *stack.Stack) []Evaluation {
	var out []Evaluation
	for _, c := range r.combinations(s) {
		if len(c.missing) > 0 { // part of what it is about was not seen
			continue
		}
		v := r.judge(c)
		if v.Outcome == Fires || v.Outcome == Quiet && !r.when.lacks(c.things) {
			out = append(out, v)
		}
	}
	return out
}

// Condition names what decides the rule's verdicts: it changes when the things
// it binds or its condition do.
func (r *Rule) Condition() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", r.For, r.Distinct, r.When))
	return hex.EncodeToString(sum[:6])
}

// lacks reports whether a condition that is quiet is so for want of facts that
// do not exist there.
func (e *expression) lacks(b things) bool {
	_, details, err := e.run(e.tracked, b)
	if err != nil { // absent, or unknown and ruled out by an absent fact
		return errors.Is(err, errAbsent) || errors.Is(err, errUnknown)
	}
	if details == nil || details.State() == nil {
		return false
	}
	l := lack{details: details, absent: map[int64]bool{}}
	for _, u := range e.uses {
		if u.fact == nil || b[u.name] == nil {
			continue
		}
		f, known := b[u.name].Facts[u.fact.Name]
		l.absent[u.id] = known && f.Value.IsAbsent()
	}
	return l.of(e.ast.NativeRep().Expr())
}

// lack looks through a condition that was computed for why it does not hold.
type lack struct {
	details *cel.EvalDetails
	absent  map[int64]bool // nodes that name a fact which does not exist there
}

// of reports whether a part that does not hold fails for want of facts. Of
// parts joined by && those that fail decide, of those joined by || all do.
func (l lack) of(x ast.Expr) bool {
	if x.Kind() != ast.CallKind {
		return l.uses(x)
	}
	args := x.AsCall().Args()
	switch x.AsCall().FunctionName() {
	case operators.LogicalAnd:
		return !slices.ContainsFunc(args, func(a ast.Expr) bool { return l.failed(a) && !l.of(a) })
	case operators.LogicalOr:
		return !slices.ContainsFunc(args, func(a ast.Expr) bool { return !l.of(a) })
	case operators.Conditional:
		return slices.ContainsFunc(args[1:], func(a ast.Expr) bool { return l.failed(a) && l.of(a) })
	}
	return l.uses(x)
}

// failed reports whether a part was computed and does not hold.
func (l lack) failed(x ast.Expr) bool {
	v, seen := l.details.State().Value(x.ID())
	return seen && v != types.True && !types.IsUnknown(v)
}

// uses reports whether a part asked for a fact that does not exist there.
func (l lack) uses(x ast.Expr) bool {
	found := false
	ast.PreOrderVisit(x, ast.NewExprVisitor(func(n ast.Expr) {
		_, seen := l.details.State().Value(n.ID())
		found = found || seen && l.absent[n.ID()]
	}))
	return found
}
