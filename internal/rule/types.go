package rule

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// errAbsent ends the evaluation of an expression that uses a fact which is
// known not to exist: the rule then does not concern the thing.
var errAbsent = errors.New("fact does not exist here")

// provider tells CEL the kinds of the catalogue as types and their facts as
// fields, so that a typo or a wrong type is an error when a rule is loaded.
type provider struct {
	*types.Registry
	cat *catalog.Catalog
}

const typePrefix = "kind."

func typeOfKind(kind string) *cel.Type { return cel.ObjectType(typePrefix + kind) }

func (p provider) kind(structType string) *catalog.Kind {
	if len(structType) <= len(typePrefix) {
		return nil
	}
	return p.cat.Kinds[structType[len(typePrefix):]]
}

// FindStructType is part of CEL's types.Provider.
func (p provider) FindStructType(structType string) (*types.Type, bool) {
	if k := p.kind(structType); k != nil {
		return types.NewTypeTypeWithParam(typeOfKind(k.Name)), true
	}
	return p.Registry.FindStructType(structType)
}

// FindStructFieldNames is part of CEL's types.Provider.
func (p provider) FindStructFieldNames(structType string) ([]string, bool) {
	k := p.kind(structType)
	if k == nil {
		return p.Registry.FindStructFieldNames(structType)
	}
	return slices.Collect(maps.Keys(k.Facts)), true
}

// FindStructFieldType is part of CEL's types.Provider.
func (p provider) FindStructFieldType(structType, name string) (*types.FieldType, bool) {
	k := p.kind(structType)
	if k == nil {
		return p.Registry.FindStructFieldType(structType, name)
	}
	f := k.Facts[name]
	if f == nil {
		return nil, false
	}
	return &types.FieldType{
		Type: celType(f.Type),
		IsSet: func(target any) bool {
			t, ok := target.(*stack.Thing)
			return ok && !t.Facts[name].Value.IsAbsent()
		},
		GetFrom: func(target any) (any, error) { return get(target, f) },
	}, true
}

// get reads a fact of a thing for CEL. Unknown facts never come here: they
// match a pattern of the activation first.
func get(target any, f *catalog.Fact) (any, error) {
	t, ok := target.(*stack.Thing)
	if !ok {
		return nil, fmt.Errorf("%T has no facts", target)
	}
	v := t.Facts[f.Name].Value
	if v.IsAbsent() {
		return nil, fmt.Errorf("%s of %s: %w", f.Name, t.Ref, errAbsent)
	}
	if !f.Type.Fits(v) {
		return nil, fmt.Errorf("%s of %s is %T, declared as %s", f.Name, t.Ref, v.Any(), f.Type)
	}
	return v.Any(), nil
}

func celType(t catalog.Type) *cel.Type {
	switch t {
	case catalog.Bool:
		return cel.BoolType
	case catalog.Text:
		return cel.StringType
	case catalog.List:
		return cel.ListType(cel.StringType)
	case catalog.Float, catalog.Percent, catalog.Ratio, catalog.Rate:
		return cel.DoubleType
	}
	return cel.IntType
}

// NativeToValue is part of CEL's types.Adapter; it lets a text name a thing.
func (p provider) NativeToValue(value any) ref.Val {
	if t, ok := value.(*stack.Thing); ok {
		return thing{t, opaque{typeOfKind(t.Ref.Kind)}}
	}
	return p.Registry.NativeToValue(value)
}

// thing is a thing as a CEL value. It is only good for its facts and its name.
type thing struct {
	*stack.Thing
	opaque
}

// Equal is part of CEL's ref.Val: two things are equal when they are the same.
func (t thing) Equal(other ref.Val) ref.Val {
	o, ok := other.(thing)
	return types.Bool(ok && o.Ref == t.Ref)
}

// Value is part of CEL's ref.Val.
func (t thing) Value() any { return t.Thing }

// opaque is what CEL asks of every value, for those that are only compared or
// looked into.
type opaque struct{ of *cel.Type }

// ConvertToNative is part of CEL's ref.Val.
func (o opaque) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("a %s is not a value", o.of.TypeName())
}

// ConvertToType is part of CEL's ref.Val.
func (o opaque) ConvertToType(to ref.Type) ref.Val {
	return types.NewErr("a %s cannot become %s", o.of.TypeName(), to.TypeName())
}

// Type is part of CEL's ref.Val.
func (o opaque) Type() ref.Type { return o.of }
