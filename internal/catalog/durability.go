package catalog

import (
	"strings"

	"plumb/internal/stack"
)

// Durability gives the class of a value of a knob. A value not listed is Safe.
func (f *Fact) Durability(v stack.Value) string {
	if f.Knob == nil || v.IsAbsent() {
		return Safe
	}
	for text, class := range f.Knob.Durability {
		if limit, above := strings.CutPrefix(text, Above); above && exceeds(f, v, limit) || !above && sameValue(f, text, v) {
			return class
		}
	}
	return Safe
}

// Above before a number stands for all that are larger.
const Above = ">"

// exceeds tells whether a number is larger than another. A text that a server
// gave is read first.
func exceeds(f *Fact, v stack.Value, limit string) bool {
	most, err := ParseValue(f, limit)
	if text, ok := v.Text(); ok && err == nil {
		v, err = ParseValue(f, text)
	}
	n, isInt := v.Int()
	than, sameType := most.Int()
	return err == nil && isInt && sameType && n > than
}

// sameValue compares as the server does: ON, on and 1 are one switch, the
// case of words does not count.
func sameValue(f *Fact, text string, v stack.Value) bool {
	if got, ok := v.Text(); ok {
		return strings.EqualFold(strings.TrimSpace(got), text)
	}
	want, err := ParseValue(f, text)
	return err == nil && want.Equal(v)
}

// Danger orders durability classes: 0 safe, 1 conditional, 2 may lose the
// last transactions, 3 may corrupt.
func Danger(class string) int {
	switch {
	case class == MayCorrupt:
		return 3
	case class == MayLose:
		return 2
	case strings.HasPrefix(class, Conditional):
		return 1
	}
	return 0
}

// LessDurable reports whether setting a knob from one value to another makes
// it less durable. A value nobody could read counts as Safe, so nothing less
// than safe passes in its place.
func (f *Fact) LessDurable(from, to stack.Value) bool {
	return Danger(f.Durability(to)) > Danger(f.Durability(from))
}
