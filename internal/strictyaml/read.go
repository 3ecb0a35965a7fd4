package strictyaml

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"plumb/internal/hint"
)

// Fields says how to read each key of a mapping.
type Fields map[string]func(*Node)

// Object reads a mapping with known keys, in the order of the file. What names
// it in messages: "a rule", "a fact".
func (s *Document) Object(n *Node, what string, fields Fields, required ...string) {
	seen := map[string]bool{}
	known := slices.Sorted(maps.Keys(fields))
	if !s.Entries(n, what, func(key, value *Node) {
		seen[key.Value] = true
		read := fields[key.Value]
		if read == nil {
			s.Errorf(key, "%s has no key %q%s", what, key.Value, cmp.Or(Meant(key.Value, known), "; its keys are "+strings.Join(known, ", ")))
			return
		}
		read(value)
	}) {
		return
	}
	for _, k := range required {
		if !seen[k] {
			s.Errorf(n, "%s needs the key %q", what, k)
		}
	}
}

// Entries reads a mapping with any keys, in the order of the file. A key given
// twice is reported once more and not read again.
func (s *Document) Entries(n *Node, what string, each func(key, value *Node)) bool {
	if n.Kind != yaml.MappingNode {
		s.Errorf(n, "%s is written as key: value, not as %s", what, form(n))
		return false
	}
	seen := map[string]*Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			s.Errorf(key, "a key is a plain word, not %s", form(key))
			continue
		}
		if first := seen[key.Value]; first != nil {
			s.Errorf(key, "%q is there twice, first in line %d", key.Value, first.Line)
			continue
		}
		seen[key.Value] = key
		each(key, value)
	}
	return true
}

// Items reads a list.
func (s *Document) Items(n *Node, what string, each func(*Node)) {
	if n.Kind != yaml.SequenceNode {
		s.Errorf(n, "%s is a list, not %s", what, form(n))
		return
	}
	for _, c := range n.Content {
		each(c)
	}
}

// Text reads a scalar as it is written.
func (s *Document) Text(n *Node, what string) string {
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		s.Errorf(n, "%s is a text, not %s", what, form(n))
		return ""
	}
	return n.Value
}

// Texts reads a list of scalars.
func (s *Document) Texts(n *Node, what string) []string {
	var out []string
	s.Items(n, what, func(c *Node) { out = append(out, s.Text(c, "an item of "+what)) })
	return out
}

// OneOf reads a scalar that is one of a few words.
func (s *Document) OneOf(n *Node, what string, words ...string) string {
	got := s.Text(n, what)
	if got == "" || slices.Contains(words, got) {
		return got
	}
	s.Errorf(n, "%s is one of %s, not %q%s", what, strings.Join(words, ", "), got, Meant(got, words))
	return ""
}

// Number reads a number.
func (s *Document) Number(n *Node, what string) float64 {
	got := s.Text(n, what)
	f, err := strconv.ParseFloat(strings.ReplaceAll(got, "_", ""), 64)
	if err != nil && got != "" {
		s.Errorf(n, "%s is a number, not %q", what, got)
	}
	return f
}

// Switch reads true or false.
func (s *Document) Switch(n *Node, what string) bool {
	return s.OneOf(n, what, "true", "false") == "true"
}

// IsNull reports whether nothing is written at n.
func IsNull(n *Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// IsMap reports whether n is a mapping.
func IsMap(n *Node) bool { return n.Kind == yaml.MappingNode }

// IsList reports whether n is a list.
func IsList(n *Node) bool { return n.Kind == yaml.SequenceNode }

func form(n *Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "key: value"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if IsNull(n) {
			return "nothing"
		}
		return "the text " + strconv.Quote(n.Value)
	}
	return "this"
}

// Meant is hint.Meant as the end of a sentence.
func Meant(word string, known []string) string {
	if help := hint.Meant(word, known); help != "" {
		return "; " + help
	}
	return ""
}
