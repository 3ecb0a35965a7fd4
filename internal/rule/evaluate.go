package rule

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"plumb/internal/stack"
	"plumb/internal/units"
)

// things are what the variables of a rule stand for. A variable with a nil
// thing stands for one that could not be found, because a link is unknown.
type things map[string]*stack.Thing

// errUnknown says that a fact an expression needs is unknown.
var errUnknown = errors.New("not known")

// vars gives CEL the things, and what of them is unknown.
func (e *expression) vars(b things) (any, error) {
	values := make(map[string]any, len(b))
	for name, t := range b {
		values[name] = t
	}
	var unknown []*cel.AttributePatternType
	for _, u := range e.uses {
		t := b[u.name]
		if t == nil {
			values[u.name] = &stack.Thing{}
			unknown = append(unknown, cel.AttributePattern(u.name))
			continue
		}
		if u.fact == nil {
			continue
		}
		if _, known := t.Facts[u.fact.Name]; !known {
			unknown = append(unknown, cel.AttributePattern(u.name).QualString(u.fact.Name))
		}
	}
	if len(unknown) == 0 {
		return values, nil
	}
	return cel.PartialVars(values, unknown...)
}

// eval computes the expression. The error is errUnknown or errAbsent when a
// fact is missing, or says what could not be computed.
func (e *expression) eval(b things) (ref.Val, error) {
	v, _, err := e.run(e.program, b)
	return v, err
}

func (e *expression) run(p cel.Program, b things) (ref.Val, *cel.EvalDetails, error) {
	vars, err := e.vars(b)
	if err != nil {
		return nil, nil, err
	}
	v, details, err := p.Eval(vars)
	switch {
	case err != nil:
		return nil, details, fmt.Errorf("compute %s: %w", e.short(), err)
	case types.IsUnknown(v):
		return v, details, errUnknown
	}
	return v, details, nil
}

// short names the expression in an error.
func (e *expression) short() string {
	return units.Start(strings.Join(strings.Fields(e.source), " "), 60)
}

// value computes the expression as a value of ours.
func (e *expression) value(b things) (stack.Value, error) {
	v, err := e.eval(b)
	if err != nil {
		return stack.Value{}, err
	}
	return fromCEL(v)
}

// holds computes a condition, and what is missing when it is unknown.
func (e *expression) holds(b things) (Outcome, []Missing, error) {
	v, _, err := e.run(e.program, b)
	return e.outcome(b, v, nil, err)
}

// holdsBy computes a condition and tells what of it was evaluated, so that who
// wants to know why need not compute it again.
func (e *expression) holdsBy(b things) (Outcome, []Missing, *cel.EvalDetails, error) {
	v, details, err := e.run(e.tracked, b)
	outcome, missing, err := e.outcome(b, v, details, err)
	return outcome, missing, details, err
}

// outcome reads what came of a condition. details is nil where nobody remembered
// what was evaluated.
func (e *expression) outcome(b things, v ref.Val, details *cel.EvalDetails, err error) (Outcome, []Missing, error) {
	switch {
	case errors.Is(err, errAbsent):
		return Quiet, nil, nil
	case errors.Is(err, errUnknown):
		if details == nil {
			_, details, _ = e.run(e.tracked, b)
		}
		if e.ruledOut(details) {
			return Quiet, nil, nil
		}
		return Unknown, e.missing(b, v), nil
	case err != nil:
		return Unknown, nil, err
	case v == types.True:
		return Fires, nil, nil
	}
	return Quiet, nil, nil
}

// ruledOut reports whether a condition that is unknown can never hold, because
// one of its parts joined by && uses an absent fact.
func (e *expression) ruledOut(details *cel.EvalDetails) bool {
	if details == nil || details.State() == nil {
		return false
	}
	var absent func(x ast.Expr) bool
	absent = func(x ast.Expr) bool {
		if x.Kind() == ast.CallKind && x.AsCall().FunctionName() == operators.LogicalAnd {
			for _, a := range x.AsCall().Args() {
				if absent(a) {
					return true
				}
			}
		}
		v, _ := details.State().Value(x.ID())
		return isAbsent(v)
	}
	return absent(e.ast.NativeRep().Expr())
}

// isAbsent reports whether a part of an expression failed because it uses an absent fact.
func isAbsent(v ref.Val) bool {
	failed, isError := v.(*types.Err)
	return isError && errors.Is(failed, errAbsent)
}

// missing lists the unknown facts that kept a condition from being decided.
func (e *expression) missing(b things, v ref.Val) []Missing {
	unknown, ok := v.(*types.Unknown)
	if !ok {
		return nil
	}
	waits := map[[2]string]bool{}
	for _, id := range unknown.IDs() {
		trails, _ := unknown.GetAttributeTrails(id)
		for _, t := range trails {
			if path := t.QualifierPath(); len(path) > 0 {
				name, _ := path[0].(string)
				waits[[2]string{t.Variable(), name}] = true
			}
		}
	}
	var out []Missing
	for _, u := range e.uses {
		if u.fact == nil || b[u.name] == nil {
			continue
		}
		key := [2]string{u.name, u.fact.Name}
		if waits[key] {
			out = append(out, Missing{Of: b[u.name].Ref, Name: u.fact.Name})
			delete(waits, key)
		}
	}
	return out
}

// evidence lists the facts that took part in a condition that holds.
func (e *expression) evidence(b things, details *cel.EvalDetails) []Evidence {
	if details == nil || details.State() == nil {
		return nil
	}
	type key struct {
		of   stack.Ref
		name string
	}
	seen := map[key]bool{}
	var out []Evidence
	for _, u := range e.uses {
		if u.fact == nil || b[u.name] == nil {
			continue
		}
		v, evaluated := details.State().Value(u.id)
		f, known := b[u.name].Facts[u.fact.Name]
		k := key{b[u.name].Ref, u.fact.Name}
		if !evaluated || types.IsUnknown(v) || !known || seen[k] || u.hasOnly && !f.Value.IsAbsent() {
			continue
		}
		seen[k] = true
		out = append(out, Evidence{Of: k.of, Name: k.name, Fact: f})
	}
	return out
}
