package rule

import (
	"errors"
	"math"
	"reflect"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// constants are the sizes a rule can name.
func constants() map[string]int64 {
	return map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
}

// functions are what rules can call beyond CEL's own.
func functions() []cel.EnvOption {
	var out []cel.EnvOption
	for name, n := range constants() {
		out = append(out, cel.Constant(name, cel.IntType, types.Int(n)))
	}
	out = append(out, pair("min", false)...)
	out = append(out, pair("max", true)...)
	return append(out,
		cel.Function("round",
			cel.Overload("round_double", []*cel.Type{cel.DoubleType}, cel.IntType, cel.UnaryBinding(round)),
			cel.Overload("round_int", []*cel.Type{cel.IntType}, cel.IntType, cel.UnaryBinding(round))),
		cel.Function("roundUp",
			cel.Overload("roundUp_int", []*cel.Type{cel.IntType, cel.IntType}, cel.IntType, cel.BinaryBinding(roundUp)),
			cel.Overload("roundUp_double", []*cel.Type{cel.DoubleType, cel.IntType}, cel.IntType, cel.BinaryBinding(roundUp))),
		cel.Function("show",
			cel.Overload("show_as", []*cel.Type{cel.DynType, cel.StringType}, cel.StringType, cel.BinaryBinding(showAs))),
		cel.Function("version",
			cel.Overload("version_text", []*cel.Type{cel.StringType}, versionType(), cel.UnaryBinding(toVersion))),
		comparable("_<_"),
		comparable("_<=_"),
		comparable("_>_"),
		comparable("_>=_"),
	)
}

// pair declares min or max over two numbers of one type.
func pair(name string, larger bool) []cel.EnvOption {
	pick := func(a, b ref.Val) ref.Val {
		c, ok := a.(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(a)
		}
		order, ok := c.Compare(b).(types.Int)
		if !ok {
			return types.MaybeNoSuchOverloadErr(b)
		}
		if (order > 0) == larger {
			return a
		}
		return b
	}
	var overloads []cel.FunctionOpt
	for _, t := range []*cel.Type{cel.IntType, cel.DoubleType} {
		overloads = append(overloads, cel.Overload(name+"_"+t.String(), []*cel.Type{t, t}, t, cel.BinaryBinding(pick)))
	}
	return []cel.EnvOption{cel.Function(name, overloads...)}
}

func number(v ref.Val) (float64, bool) {
	switch n := v.(type) {
	case types.Int:
		return float64(n), true
	case types.Double:
		return float64(n), !math.IsNaN(float64(n)) && math.Abs(float64(n)) < math.MaxInt64
	}
	return 0, false
}

func round(v ref.Val) ref.Val {
	if n, ok := v.(types.Int); ok {
		return n
	}
	f, ok := number(v)
	if !ok {
		return types.NewErr("round: %v is out of range", v.Value())
	}
	return types.Int(math.Round(f))
}

// roundUp gives the next multiple of unit.
func roundUp(v, unit ref.Val) ref.Val {
	u, _ := unit.(types.Int)
	f, ok := number(v)
	if !ok || u <= 0 {
		return types.NewErr("roundUp: want a number and a unit above zero")
	}
	n, exact := v.(types.Int)
	if !exact {
		n = types.Int(math.Ceil(f))
	}
	if n > math.MaxInt64-u {
		return types.NewErr("roundUp: %v is too large", n)
	}
	if rest := n % u; rest > 0 {
		n += u - rest
	} else {
		n -= rest
	}
	return n
}

// showAs writes a value with the unit of a type of the catalogue.
func showAs(v, unit ref.Val) ref.Val {
	got, err := fromCEL(v)
	if err != nil {
		return types.NewErr("show: %v", err)
	}
	t, _ := unit.(types.String)
	return types.String(catalog.ShowAs(catalog.Type(t), got))
}

// nameOf is how people name a thing: what ZFS and the kernel have names for by
// that name alone, a server with its product.
func nameOf(r stack.Ref) string {
	switch r.Kind {
	case "dataset", "pool", "block", "filesystem":
		return r.Name
	}
	return r.String()
}

// fromCEL gives what an expression yielded as a value of ours.
func fromCEL(v ref.Val) (stack.Value, error) {
	switch x := v.(type) {
	case types.Bool:
		return stack.Bool(bool(x)), nil
	case types.Int:
		return stack.Int(int64(x)), nil
	case types.Double:
		return stack.Float(float64(x)), nil
	case types.String:
		return stack.Text(string(x)), nil
	case thing:
		return stack.Text(nameOf(x.Ref)), nil
	case traits.Lister:
		l, err := x.ConvertToNative(reflect.TypeFor[[]string]())
		if err != nil {
			return stack.Value{}, err
		}
		return stack.List(l.([]string)), nil
	case version:
		return stack.Text(x.String()), nil
	}
	return stack.Value{}, errors.New(v.Type().TypeName() + " is not a value of a fact")
}

// version is a version as a CEL value; only comparing makes sense.
type version struct {
	catalog.Version
	opaque
}

func versionType() *cel.Type { return cel.ObjectType("version", traits.ComparerType) }

func toVersion(v ref.Val) ref.Val {
	text, _ := v.(types.String)
	got, err := catalog.ParseVersion(string(text))
	if err != nil {
		return types.WrapErr(err)
	}
	return version{got, opaque{versionType()}}
}

// comparable declares an operator for versions; CEL's own binding of the
// operator calls Compare.
func comparable(operator string) cel.EnvOption {
	return cel.Function(operator, cel.Overload("version"+operator, []*cel.Type{versionType(), versionType()}, cel.BoolType))
}

// Compare is part of CEL's traits.Comparer.
func (v version) Compare(other ref.Val) ref.Val {
	o, ok := other.(version)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	return types.Int(min(1, max(-1, v.Version.Compare(o.Version))))
}

// Equal is part of CEL's ref.Val.
func (v version) Equal(other ref.Val) ref.Val {
	o, ok := other.(version)
	return types.Bool(ok && v.Version.Compare(o.Version) == 0)
}

// Value is part of CEL's ref.Val.
func (v version) Value() any { return v.String() }
