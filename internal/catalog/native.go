package catalog

import (
	"fmt"
	"strconv"

	"plumb/internal/product"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Native writes a value as the thing it belongs to takes it, not quoted: in an
// option file of MySQL or MariaDB, in postgresql.conf, after zfs set, in a
// sysctl. kind is that of the thing, t the type of the fact.
func Native(kind string, t Type, v stack.Value) string {
	n, isInt := v.Int()
	notation := product.Of(kind).Notation
	switch {
	case notation == product.Option:
		if b, ok := v.Bool(); ok {
			return map[bool]string{true: "ON", false: "OFF"}[b]
		}
		if t == Bytes && isInt {
			return units.Typed(n, "", "K", "M", "G")
		}
	case notation == product.Units:
		if text, ok := withUnit(t, n); ok && isInt && n > 0 {
			return text
		}
	case kind == "dataset", kind == "pool":
		if t == Bytes && isInt {
			return units.Typed(n, "", "K", "M", "G")
		}
	}
	if f, ok := v.Number(); ok && !isInt {
		return strconv.FormatFloat(f, 'f', -1, 64) // no server reads an exponent everywhere
	}
	return v.String()
}

// withUnit writes a number with its unit: a bare one counts in the
// setting's own unit, which can be 8kB. 0 and -1 have none.
func withUnit(t Type, n int64) (text string, ok bool) {
	switch t {
	case Bytes:
		return units.Typed(n, "B", "kB", "MB", "GB"), true
	case Millis:
		return fmt.Sprintf("%dms", n), true
	case Micros:
		return fmt.Sprintf("%dus", n), true
	case Seconds:
		return fmt.Sprintf("%ds", n), true
	}
	return "", false
}
