package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxBytes bounds one file; ours are a few kilobytes.
const maxBytes = 1 << 20

// Node is a place in a file.
type Node = yaml.Node

// Error is one mistake in a file. Line and Col are 1-based.
type Error struct {
	File      string
	Line, Col int
	Msg       string
}

// Error gives file:line:col: message.
func (e Error) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg) }

// Sheet is one file while it is read; it gathers the mistakes.
type Document struct {
	File   string
	text   []byte
	lines  [][]rune // made when a place in a text is asked for
	errors []Error
}

// Parse reads a file and gives the node of its one document, or nil when it
// is no YAML; the error is then already noted.
func Parse(file string, data []byte) (*Document, *Node) {
	s := &Document{File: file}
	if len(data) > maxBytes {
		s.At(1, 1, "larger than %d bytes", maxBytes)
		return s, nil
	}
	s.text = data
	var doc Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		s.syntax(err)
		return s, nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		s.At(1, 1, "empty file")
		return s, nil
	}
	if at := findAlias(doc.Content[0]); at != nil {
		s.Errorf(at, "anchors and aliases are not used here: write it out")
		return s, nil
	}
	return s, doc.Content[0]
}

// syntax notes what the YAML reader says, with its position where it tells.
func (s *Document) syntax(err error) {
	if at, ok := errors.AsType[*yaml.LoadError](err); ok {
		s.At(max(at.Mark.Line, 1), max(at.Mark.Column, 1), "not YAML: %s", at.Message)
		return
	}
	s.At(1, 1, "not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
}

func findAlias(n *Node) *Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	for _, c := range n.Content {
		if at := findAlias(c); at != nil {
			return at
		}
	}
	return nil
}

// At notes a mistake at a line and column.
func (s *Document) At(line, col int, format string, args ...any) {
	s.errors = append(s.errors, Error{s.File, line, col, fmt.Sprintf(format, args...)})
}

// Errorf notes a mistake at a node.
func (s *Document) Errorf(n *Node, format string, args ...any) {
	s.At(max(n.Line, 1), max(n.Column, 1), format, args...)
}

// Errors gives all mistakes noted so far, in the order of the file.
func (s *Document) Errors() []Error {
	out := slices.Clone(s.errors)
	slices.SortStableFunc(out, func(a, b Error) int { return cmp.Or(a.Line-b.Line, a.Col-b.Col) })
	return slices.Compact(out)
}

// Err joins the mistakes into one error; nil when there are none.
func (s *Document) Err() error { return Join(s.Errors()) }

// Join makes one error of many; nil of none.
func Join(list []Error) error {
	all := make([]error, len(list))
	for i, e := range list {
		all[i] = e
	}
	return errors.Join(all...)
}
