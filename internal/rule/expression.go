package rule

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"plumb/internal/catalog"
	"plumb/internal/strictyaml"
)

// expression is a compiled CEL expression.
type expression struct {
	source  string
	ast     *cel.Ast
	program cel.Program
	tracked cel.Program // remembers what was evaluated; made for conditions only
	uses    []use       // facts it names, in the order of the text
	fact    *use        // set when the expression is a fact and nothing else
}

// use is one place where an expression names a fact of a variable.
type use struct {
	id      int64 // of the AST node
	offset  int32 // in the source, in runes
	name    string
	fact    *catalog.Fact // nil when the variable itself is meant
	hasOnly bool          // has(x.y): asks whether it is there
}

// problem is a mistake at a rune of a source text.
type problem struct {
	offset int
	msg    string
	syntax bool // it is no expression at all
}

// compile reads and checks an expression; track keeps what conditions need to
// explain themselves.
func (s *scope) compile(source string, track bool) (*expression, []problem) {
	if strings.TrimSpace(source) == "" {
		return nil, []problem{{msg: "an expression is missing"}}
	}
	parsed, issues := s.env.Parse(source)
	if issues.Err() != nil {
		return nil, s.problems(source, issues)
	}
	e := &expression{source: source}
	if wrong := e.findUses(s, parsed); len(wrong) > 0 {
		return nil, wrong
	}
	checked, issues := s.env.Check(parsed)
	if issues.Err() != nil {
		return nil, s.problems(source, issues)
	}
	e.ast = checked
	var err error
	if e.program, err = s.env.Program(checked, cel.EvalOptions(cel.OptPartialEval), cel.CostLimit(maxCost)); err == nil && track {
		e.tracked, err = s.env.Program(checked, cel.EvalOptions(cel.OptPartialEval, cel.OptTrackState), cel.CostLimit(maxCost))
	}
	if err != nil {
		return nil, []problem{{msg: err.Error()}}
	}
	return e, nil
}

// findUses lists the facts the expression names, and reports those that the
// catalogue does not have.
func (e *expression) findUses(s *scope, parsed *cel.Ast) []problem {
	var wrong []problem
	tree := parsed.NativeRep()
	operands := map[int64]bool{}
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		at, _ := tree.SourceInfo().GetOffsetRange(x.ID())
		switch x.Kind() {
		case ast.SelectKind:
			sel := x.AsSelect()
			if sel.Operand().Kind() != ast.IdentKind || s.kinds[sel.Operand().AsIdent()] == nil {
				return
			}
			name := sel.Operand().AsIdent()
			operands[sel.Operand().ID()] = true
			f := s.fact(x)
			if f == nil {
				wrong = append(wrong, problem{offset: fieldOffset(e.source, int(at.Start)), msg: noFact(name, s.kinds[name], sel.FieldName())})
				return
			}
			e.uses = append(e.uses, use{x.ID(), at.Start, name, f, sel.IsTestOnly()})
		case ast.IdentKind:
			if name := x.AsIdent(); s.kinds[name] != nil && !operands[x.ID()] {
				e.uses = append(e.uses, use{x.ID(), at.Start, name, nil, false})
			}
		}
	}))
	slices.SortStableFunc(e.uses, func(a, b use) int { return cmp.Compare(a.offset, b.offset) })
	if root := tree.Expr(); len(e.uses) == 1 && e.uses[0].id == root.ID() && !e.uses[0].hasOnly {
		e.fact = &e.uses[0]
	}
	return wrong
}

// fieldOffset moves from the dot of x.field to the field.
func fieldOffset(source string, offset int) int {
	for i, r := range []rune(source) {
		if i >= offset && r != '.' && r != ' ' && r != '\n' {
			return i
		}
	}
	return offset
}

func noFact(name string, k *catalog.Kind, fact string) string {
	if link, ok := k.Links[fact]; ok {
		return fmt.Sprintf("%s.%s is a link, not a fact: bind it first, as in \"- x in %s.%s\" (a %s)", name, fact, name, fact, link.To)
	}
	return fmt.Sprintf("%s (%s) has no fact %s%s", name, k.Name, fact, strictyaml.Meant(fact, slices.Sorted(maps.Keys(k.Facts))))
}

// problems puts CEL's findings into our words.
func (s *scope) problems(source string, issues *cel.Issues) []problem {
	var out []problem
	for _, e := range issues.Errors() {
		msg, syntax := strings.CutPrefix(e.Message, "Syntax error: ")
		out = append(out, problem{runeOffset(source, e.Location.Line(), e.Location.Column()), s.reword(msg), syntax})
	}
	return out
}

func runeOffset(source string, line, col int) int {
	offset := 0
	for _, r := range source {
		if line <= 1 {
			break
		}
		if offset++; r == '\n' {
			line--
		}
	}
	return offset + max(col, 0)
}

func (s *scope) reword(msg string) string {
	if name, ok := strings.CutPrefix(msg, "undeclared reference to '"); ok {
		name, _, _ = strings.Cut(name, "'")
		known := slices.Concat(slices.Sorted(maps.Keys(s.kinds)), slices.Sorted(maps.Keys(constants())),
			[]string{"version", "show", "min", "max", "round", "roundUp", "double", "int", "has", "size"})
		return fmt.Sprintf("there is no %s here%s (a text is written \"%s\", with its quotes; bound: %s)",
			name, strictyaml.Meant(name, known), name, strings.Join(slices.Sorted(maps.Keys(s.kinds)), ", "))
	}
	if rest, ok := strings.CutPrefix(msg, "found no matching overload for '"); ok {
		call, args, _ := strings.Cut(rest, "' applied to '")
		return fmt.Sprintf("%s does not take %s%s", strings.Trim(call, "_"), strings.TrimSuffix(args, "'"), typeHint(args))
	}
	return msg
}

func typeHint(args string) string {
	switch {
	case strings.Contains(args, "int") && strings.Contains(args, "double"):
		return ": make them alike with double(x) or int(x)"
	case strings.Contains(args, "bool") && strings.Contains(args, "string"):
		return ": a bool fact is used as it is, without comparing it to \"ON\""
	}
	return ""
}

func (e *expression) usesVar(name string) bool {
	return slices.ContainsFunc(e.uses, func(u use) bool { return u.name == name })
}
