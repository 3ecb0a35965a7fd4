package edit

import (
	"bytes"
	"slices"
	"strings"
)

// Revert takes the splice that set a key back, like Splice.Revert, and knows
// what the lines mean: it never gives a text in which another key has another
// value. Where the lines as such cannot be put back without that, because a
// later edit stands between or on them, only the key's own value is.
func Revert(f Form, s Splice, now []byte, key string) ([]byte, error) {
	out, err := s.Revert(now)
	if sum(now) == s.Before || sum(now) == s.After {
		return out, err
	}
	g, bad := f.grammar()
	if bad != nil {
		return nil, bad
	}
	all, bad := g.read(now)
	if bad != nil {
		return out, err // it cannot be told what the lines mean, and others' words stay as they are
	}
	if err == nil && g.spares(out, all, key) {
		return g.pruned(s, now, out), nil
	}
	if out, ok := g.without(s, now, all, key); ok {
		return g.pruned(s, now, out), nil
	}
	if out, ok := g.valueBack(s, now, all, key); ok {
		return out, nil
	}
	return nil, ErrDrifted
}

// spares tells whether a text, against what all lists, differs in no other
// key than the one.
func (g grammar) spares(out []byte, all []assignment, key string) bool {
	left, err := g.read(out)
	return err == nil && g.besides(left, key) == g.besides(all, key)
}

// besides lists what is assigned to all keys but one.
func (g grammar) besides(all []assignment, key string) string {
	return g.others(slices.DeleteFunc(slices.Clone(all), func(a assignment) bool { return a.key == g.key(key) }), key)
}

// only gives the one assignment of a key.
func (g grammar) only(all []assignment, key string) (assignment, bool) {
	var found []assignment
	for _, a := range all {
		if a.key == g.key(key) {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return assignment{}, false
	}
	return found[0], true
}

// without takes the line away that assigns a key, when the splice added it:
// what came with it, such as the header of its group, serves others now.
func (g grammar) without(s Splice, now []byte, all []assignment, key string) ([]byte, bool) {
	a, ok := g.only(all, key)
	if !ok || a.from < 0 || !strings.HasPrefix(string(s.New), chomp(s.Old)) {
		return nil, false
	}
	from := bytes.LastIndexByte(now[:a.from], '\n') + 1
	to := afterLine(now, line{at: from})
	mine := func(l line) bool { return l.text == chomp(now[from:to]) }
	if !slices.ContainsFunc(slices.Collect(lines(s.New)), mine) || slices.ContainsFunc(slices.Collect(lines(s.Old)), mine) {
		return nil, false
	}
	out := slices.Concat(now[:from], now[to:])
	return out, g.spares(out, all, key)
}

// pruned takes away the keys that the last of their settings has left. A text
// that had the like before, or a key that had nothing before the edit, keeps
// them.
func (g grammar) pruned(s Splice, now, out []byte) []byte {
	if g.hollow == nil || len(g.hollow(now)) > 0 {
		return out
	}
	for i := range maxDepth {
		left := g.hollow(out)
		if len(left) != 1 || i == 0 && !s.emptied(chomp(out[left[0].from:left[0].to])) {
			break
		}
		out = slices.Concat(out[:left[0].from], out[left[0].to:])
	}
	return out
}

// emptied tells whether a key came with the splice, or had other settings
// below the new one then.
func (s Splice) emptied(key string) bool {
	has := func(text []byte) bool {
		return slices.ContainsFunc(slices.Collect(lines(text)), func(l line) bool { return l.text == key })
	}
	return has(s.New) && !has(s.Old) || chomp(s.Above) == key && indent(string(s.Below)) > indent(key)
}

func indent(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// valueBack sets a key to the value it had in the old lines, where it still
// has the one that the new lines gave it.
func (g grammar) valueBack(s Splice, now []byte, all []assignment, key string) ([]byte, bool) {
	value := func(text []byte) (string, bool) {
		found, err := g.read(text)
		a, ok := g.only(found, key)
		return a.value, err == nil && ok
	}
	was, had := value(s.Old)
	made, set := value(s.New)
	a, ok := g.only(all, key)
	if !had || !set || !ok || a.value != made {
		return nil, false
	}
	out, err := g.set(now, key, was)
	return out, err == nil
}
