package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// mongod is the form of mongod.conf: YAML, with keys nested or written with
// dots. The library gives positions; what is written is spliced.
func mongod() grammar {
	return grammar{scan: scanYAML, raw: yamlRaw, insert: insertYAML, hollow: hollowYAML}
}

// maxDepth bounds how deep mappings are nested.
const maxDepth = 20

// document reads the one mapping of a text; nil when the text is empty.
func document(text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("not understood as YAML: %w", err)
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document, or something after it")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: not a list of settings", root.Line)
	}
	return root, nil
}

func scanYAML(text []byte) ([]assignment, error) {
	root, err := document(text)
	if err != nil || root == nil {
		return nil, err
	}
	s := yamlScan{text: text}
	err = s.mapping(root, "", 0)
	return s.all, err
}

type yamlScan struct {
	text []byte
	all  []assignment
}

// mapping adds the scalars of a mapping. What is anchored stands in several
// places at once, so to change it in one changes it in others.
func (s *yamlScan) mapping(m *yaml.Node, prefix string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("line %d: nested too deeply", m.Line)
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Anchor != "" || value.Anchor != "" || value.Kind == yaml.AliasNode {
			return fmt.Errorf("line %d: an anchor, an alias or a key that is not a word, which is not edited", key.Line)
		}
		name := prefix + key.Value
		switch value.Kind {
		case yaml.MappingNode:
			if err := s.mapping(value, name+".", depth+1); err != nil {
				return err
			}
		case yaml.ScalarNode:
			if waits(value) {
				continue
			}
			s.all = append(s.all, s.scalar(name, value))
		}
	}
	return nil
}

// waits tells whether a key has no settings yet.
func waits(value *yaml.Node) bool {
	return value.Kind == yaml.ScalarNode && value.Tag == "!!null" && value.Value == ""
}

// hollowYAML gives the lines of the keys that wait for their settings, as far
// as the key has its line for itself.
func hollowYAML(text []byte) []span {
	root, err := document(text)
	if err != nil || root == nil {
		return nil
	}
	var all []span
	var walk func(m *yaml.Node, depth int)
	walk = func(m *yaml.Node, depth int) {
		for i := 0; i+1 < len(m.Content) && m.Kind == yaml.MappingNode && depth <= maxDepth; i += 2 {
			key, value := m.Content[i], m.Content[i+1]
			at, ok := offset(text, key.Line, 1)
			if to := afterLine(text, line{at: at}); ok && waits(value) && strings.TrimSpace(string(text[at:to])) == key.Value+":" {
				all = append(all, span{at, to})
			}
			walk(value, depth+1)
		}
	}
	walk(root, 0)
	return all
}

// scalar finds the bytes of a value. One that is not plainly there (a block,
// a value with an anchor) has no place: from is -1.
func (s *yamlScan) scalar(name string, n *yaml.Node) assignment {
	a := assignment{key: name, value: n.Value, line: n.Line, from: -1}
	at, ok := offset(s.text, n.Line, n.Column)
	if !ok || n.Anchor != "" || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 {
		return a
	}
	rest := s.text[at:]
	switch {
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		if end := quotedEnd(rest); end > 0 {
			a.from, a.to = at, at+end
		}
	case bytes.HasPrefix(rest, []byte(n.Value)) && n.Value != "":
		a.from, a.to = at, at+len(n.Value)
	}
	return a
}

// quotedEnd gives the length of a quoted scalar that ends on its line.
func quotedEnd(text []byte) int {
	quote := text[0]
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return 0
}

// offset turns a line and a column of characters, both from 1, into a place.
func offset(text []byte, number, column int) (int, bool) {
	at := 0
	for ; number > 1; number-- {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return 0, false
		}
		at += i + 1
	}
	for ; column > 1 && at < len(text); column-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at, at < len(text)
}

var plainScalar = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./+-]*$`)

// yamlRaw leaves plain words and numbers bare and quotes the rest.
func yamlRaw(value string) (string, error) {
	if plainScalar.MatchString(value) && !strings.EqualFold(value, "null") {
		return value, nil
	}
	if !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff
	}) {
		return "", fmt.Errorf("%q holds a character that is not written into such a file", value)
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'", nil
}

// insertYAML adds a key below the deepest mapping that is there.
func insertYAML(text []byte, key, raw string) ([]byte, error) {
	if strings.ContainsFunc(key, func(r rune) bool { return !plainScalar.MatchString(string(r)) }) || key == "" || strings.Contains(key, "..") || strings.Trim(key, ".") != key {
		return nil, errors.New("want names with dots between them")
	}
	root, err := document(text)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(key, ".")
	if root == nil {
		return appended(text, nested(parts, raw, 0)), nil
	}
	if root.Style&yaml.FlowStyle != 0 {
		return nil, fmt.Errorf("line %d: settings between braces are not edited", root.Line)
	}
	parent, below, rest := root, (*yaml.Node)(nil), parts
	for len(rest) > 1 {
		k, v := child(parent, rest[0])
		if k == nil || v.Kind == yaml.ScalarNode && v.Tag != "!!null" {
			break
		}
		if v.Kind != yaml.MappingNode && v.Tag != "!!null" || v.Style&yaml.FlowStyle != 0 || v.Anchor != "" || v.Kind == yaml.MappingNode && v.Line == k.Line {
			return nil, fmt.Errorf("line %d: %s is not a plain list of settings", k.Line, rest[0])
		}
		parent, below, rest = v, k, rest[1:]
		if v.Kind != yaml.MappingNode {
			break
		}
	}
	if k, _ := child(parent, rest[0]); k != nil {
		return nil, fmt.Errorf("line %d: %s is there, and not as a plain value", k.Line, rest[0])
	}
	return placeYAML(text, root, parent, below, rest, raw)
}

// placeYAML writes the rest of a key as the first thing below its parent, or
// for the root at the end.
func placeYAML(text []byte, root, parent, below *yaml.Node, rest []string, raw string) ([]byte, error) {
	if below == nil {
		if bytes.Contains(text, []byte("\n...")) {
			return nil, errors.New("a line of three dots ends the document")
		}
		return appended(text, nested(rest, raw, root.Column-1)), nil
	}
	indent := below.Column + 1
	if parent.Kind == yaml.MappingNode && len(parent.Content) > 0 {
		indent = parent.Content[0].Column - 1
	}
	at, ok := offset(text, below.Line, 1)
	if !ok {
		return nil, fmt.Errorf("line %d is not there", below.Line)
	}
	return insertedAt(text, afterLine(text, line{at: at}), nested(rest, raw, indent)), nil
}

func child(m *yaml.Node, name string) (key, value *yaml.Node) {
	if m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == name {
			key, value = m.Content[i], m.Content[i+1]
		}
	}
	return key, value
}

// nested writes names, each indented more than the one before.
func nested(names []string, raw string, indent int) string {
	var b strings.Builder
	for i, n := range names {
		b.WriteString(strings.Repeat(" ", indent+2*i) + n + ":")
		if i < len(names)-1 {
			b.WriteByte('\n')
		}
	}
	return b.String() + " " + raw
}
