package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Value is one of: bool, int64, float64, string, list of strings, or absent.
// The zero Value is absent. What a number counts (bytes, milliseconds) is in
// the catalogue, never in the value.
type Value struct{ v any }

// Bool, Int, Float, Text and List make values.
func Bool(b bool) Value { return Value{b} }

// Int makes a whole number.
func Int(n int64) Value { return Value{n} }

// Float makes a number with a fraction.
func Float(f float64) Value { return Value{f} }

// Text makes a string.
func Text(s string) Value { return Value{s} }

// List makes a list of strings; a nil list is the empty list.
func List(s []string) Value {
	if s == nil {
		s = []string{}
	}
	return Value{s}
}

// Any gives the dynamic value: bool, int64, float64, string, []string or nil.
func (v Value) Any() any { return v.v }

// IsAbsent reports whether v is the absent value.
func (v Value) IsAbsent() bool { return v.v == nil }

// Int gives the whole number in v.
func (v Value) Int() (int64, bool) { n, ok := v.v.(int64); return n, ok }

// Bool gives the truth value in v.
func (v Value) Bool() (b, ok bool) { b, ok = v.v.(bool); return b, ok }

// Text gives the string in v.
func (v Value) Text() (string, bool) { s, ok := v.v.(string); return s, ok }

// List gives the strings in v.
func (v Value) List() ([]string, bool) { l, ok := v.v.([]string); return l, ok }

// Number gives v as float64 when it is a number of either kind.
func (v Value) Number() (float64, bool) {
	switch n := v.v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// Equal compares two values; 1 and 1.0 are equal.
func (v Value) Equal(o Value) bool {
	if a, ok := v.Number(); ok {
		b, ok := o.Number()
		return ok && a == b
	}
	if a, ok := v.List(); ok {
		b, ok := o.List()
		return ok && slices.Equal(a, b)
	}
	return v.v == o.v
}

// String shows the bare value, without a unit.
func (v Value) String() string {
	switch x := v.v.(type) {
	case nil:
		return "absent"
	case bool:
		if x {
			return "on"
		}
		return "off"
	case float64:
		return strconv.FormatFloat(x, 'g', 6, 64)
	case []string:
		return strings.Join(x, ", ")
	}
	return fmt.Sprint(v.v)
}

// MarshalJSON writes the dynamic value; absent is null. A float that is whole
// keeps its point, 10.0, so that it is read back as a float.
func (v Value) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(v.v)
	if _, isFloat := v.v.(float64); isFloat && err == nil && !bytes.ContainsAny(b, ".eE") {
		b = append(b, ".0"...)
	}
	return b, err
}

// UnmarshalJSON reads what MarshalJSON wrote; whole numbers stay whole.
func (v *Value) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var raw any
	if err := d.Decode(&raw); err != nil {
		return err
	}
	got, err := ValueOf(raw)
	if err != nil {
		return err
	}
	*v = got
	return nil
}

// ValueOf converts what a JSON or YAML decoder yields.
func ValueOf(raw any) (Value, error) {
	switch x := raw.(type) {
	case nil, bool, int64, float64, string, []string:
		return Value{x}, nil
	case int:
		return Int(int64(x)), nil
	case uint64:
		return Int(int64(x)), nil
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return Int(n), nil
		}
		f, err := x.Float64()
		return Float(f), err
	case []any:
		return listOf(x)
	}
	return Value{}, fmt.Errorf("%T is not a fact value: want bool, number, text or list of texts", raw)
}

func listOf(raw []any) (Value, error) {
	l := make([]string, len(raw))
	for i, e := range raw {
		s, ok := e.(string)
		if !ok {
			return Value{}, fmt.Errorf("list element %d is %T: want text", i, e)
		}
		l[i] = s
	}
	return List(l), nil
}
