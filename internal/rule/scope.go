package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"plumb/internal/catalog"
)

// maxCost bounds what one expression may do, in CEL's units; ours take below
// a hundred.
const maxCost = 20000

// scope is where expressions of a rule are compiled: the variables it binds
// and their kinds. Rules that bind alike share one.
type scope struct {
	env   *cel.Env
	kinds map[string]*catalog.Kind // by variable
}

// compiler makes scopes; several files may be read at once.
type compiler struct {
	cat  *catalog.Catalog
	base *cel.Env

	mu     sync.Mutex // guards scopes
	scopes map[string]*scope
}

func newCompiler(cat *catalog.Catalog) (*compiler, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, fmt.Errorf("prepare CEL: %w", err)
	}
	p := provider{registry, cat}
	options := append(functions(), cel.CustomTypeProvider(p), cel.CustomTypeAdapter(p), cel.CrossTypeNumericComparisons(true))
	base, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("prepare CEL: %w", err)
	}
	return &compiler{cat: cat, base: base, scopes: map[string]*scope{}}, nil
}

// scope gives the scope of these variables, each with its kind.
func (c *compiler) scope(vars map[string]string) (*scope, error) {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		fmt.Fprintf(&key, "%s:%s ", name, vars[name])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.scopes[key.String()]; s != nil {
		return s, nil
	}
	s := &scope{kinds: map[string]*catalog.Kind{}}
	var options []cel.EnvOption
	for name, kind := range vars {
		s.kinds[name] = c.cat.Kinds[kind]
		options = append(options, cel.Variable(name, typeOfKind(kind)))
	}
	options = append(options, cel.Macros(cel.GlobalMacro("show", 1, s.expandShow)))
	env, err := c.base.Extend(options...)
	if err != nil {
		return nil, fmt.Errorf("prepare CEL: %w", err)
	}
	s.env = env
	c.scopes[key.String()] = s
	return s, nil
}

// expandShow turns show(x) into show(x, unit).
func (s *scope) expandShow(eh cel.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
	return eh.NewCall("show", args[0], eh.NewLiteral(types.String(s.unit(args[0])))), nil
}

// unit infers the unit of an expression from the facts in it; "" when it is a
// bare number or the units cannot be combined.
func (s *scope) unit(e ast.Expr) catalog.Type {
	switch e.Kind() {
	case ast.IdentKind:
		if _, isSize := constants()[e.AsIdent()]; isSize {
			return catalog.Bytes
		}
	case ast.SelectKind:
		if f := s.fact(e); f != nil && f.Type != catalog.Int && f.Type != catalog.Float {
			return f.Type
		}
	case ast.CallKind:
		return s.callUnit(e.AsCall())
	}
	return ""
}

func (s *scope) callUnit(call ast.CallExpr) catalog.Type {
	var units []catalog.Type
	for _, a := range call.Args() {
		units = append(units, s.unit(a))
	}
	switch call.FunctionName() {
	case operators.Add, operators.Subtract, "min", "max", "roundUp", operators.Multiply:
		if units[0] == "" || units[1] == "" || units[0] == units[1] && call.FunctionName() != operators.Multiply {
			return max(units[0], units[1])
		}
	case operators.Divide:
		if units[1] == "" {
			return units[0]
		}
	case operators.Conditional:
		if units[1] == "" || units[2] == "" || units[1] == units[2] {
			return max(units[1], units[2])
		}
	case operators.Negate, "double", "int", "round":
		return units[0]
	}
	return ""
}

// fact gives the fact that an expression var.fact names; nil for all others.
func (s *scope) fact(e ast.Expr) *catalog.Fact {
	if e.Kind() != ast.SelectKind || e.AsSelect().Operand().Kind() != ast.IdentKind {
		return nil
	}
	k := s.kinds[e.AsSelect().Operand().AsIdent()]
	if k == nil {
		return nil
	}
	return k.Facts[e.AsSelect().FieldName()]
}
