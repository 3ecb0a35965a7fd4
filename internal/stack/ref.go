package stack

import (
	"cmp"
	"fmt"
	"strings"
)

// Ref names one thing of a host: zfs dataset "dataset:tank/db", server
// "mysql:3306", disk "block:nvme0n1". Kinds are listed in knowledge/facts.
type Ref struct {
	Kind string
	Name string
}

// String gives the form used in flags, JSON and text: kind:name.
func (r Ref) String() string { return r.Kind + ":" + r.Name }

// IsZero reports whether r names nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// ParseRef reads the form String writes.
func ParseRef(s string) (Ref, error) {
	kind, name, ok := strings.Cut(s, ":")
	if !ok || kind == "" || name == "" {
		return Ref{}, fmt.Errorf("%q is not a reference: want kind:name, such as mysql:3306", s)
	}
	return Ref{Kind: kind, Name: name}, nil
}

// Compare orders references by kind, then name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Name, o.Name))
}

// MarshalText writes the kind:name form, so a Ref can be a JSON key or value.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the kind:name form.
func (r *Ref) UnmarshalText(b []byte) error {
	got, err := ParseRef(string(b))
	if err != nil {
		return err
	}
	*r = got
	return nil
}

// Knob names one setting of one thing: dataset:tank/db#recordsize.
type Knob struct {
	Of   Ref    `json:"of"`
	Name string `json:"name"`
}

// String gives the form used in flags, plans and text.
func (k Knob) String() string { return k.Of.String() + "#" + k.Name }
