package strictyaml

import (
	"strings"
	"testing"
)

func TestPlaceFindsACharacterOfAValue(t *testing.T) {
	const file = `plain: alpha Z omega
double: "é \"alpha\" Z"
single: 'it''s Z'
folded: >-
  alpha
  beta Z
literal: |
    a > b
    Z
wrapped: alpha
  beta Z
flow: {a: [x, Z]}
`
	s, root := Parse("f", []byte(file))
	if root == nil {
		t.Fatal(s.Err())
	}
	lines := strings.Split(file, "\n")
	var check func(n *Node)
	check = func(n *Node) {
		for _, c := range n.Content {
			check(c)
		}
		if i := strings.Index(n.Value, "Z"); i >= 0 {
			line, col := s.Place(n, len([]rune(n.Value[:i])))
			if got := []rune(lines[line-1])[col-1]; got != 'Z' {
				t.Errorf("%q: %d:%d is %q", n.Value, line, col, got)
			}
		}
	}
	check(root)
}

func TestParseReportsWhereYAMLEnds(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "f:1:1: empty file",
		"a: [1,":                   "f:2:1: not YAML: ",
		"a: b: c":                  "f:1:5: not YAML: ",
		"a: &x 1\nb: *x":           "f:1:4: anchors and aliases are not used here: write it out",
		strings.Repeat("x", 1<<21): "f:1:1: larger than 1048576 bytes",
	} {
		s, root := Parse("f", []byte(text))
		if err := s.Err(); root != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %s", text, err, want)
		}
	}
}

func TestObjectReportsAllMistakesInOrder(t *testing.T) {
	s, root := Parse("f", []byte("colour: red\nsize: x\ncolor: green\nlist: no\nsize: 5\n"))
	var size float64
	s.Object(root, "a thing", Fields{
		"color": func(n *Node) { s.OneOf(n, "color", "red", "blue") },
		"size":  func(n *Node) { size = s.Number(n, "size") },
		"list":  func(n *Node) { s.Texts(n, "list") },
		"open":  func(n *Node) { s.Switch(n, "open") },
	}, "open")
	want := `f:1:1: a thing has no key "colour"; did you mean color?
f:1:1: a thing needs the key "open"
f:2:7: size is a number, not "x"
f:3:8: color is one of red, blue, not "green"
f:4:7: list is a list, not the text "no"
f:5:1: "size" is there twice, first in line 2`
	if got := s.Err(); got == nil || got.Error() != want || size != 0 {
		t.Errorf("got\n%v\nwant\n%s", got, want)
	}
}

func TestMeant(t *testing.T) {
	known := []string{"recordsize", "record", "atime", "innodb_flush_log_at_trx_commit", "db"}
	for word, want := range map[string]string{
		"recordsiz": "recordsize", "recrod": "record", "bd": "db", "Atime": "atime", "x": "", "compression": "",
		"innodb_flush_log_at_tx_commit": "innodb_flush_log_at_trx_commit", strings.Repeat("r", 500): "",
	} {
		if got := strings.TrimSuffix(strings.TrimPrefix(Meant(word, known), "; did you mean "), "?"); got != want {
			t.Errorf("%.20s: got %q, want %q", word, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a: >\n  x\n  y", 3)
	f.Add(`a: "x\ny"`, 1)
	f.Add("- 'it''s'\n- |+\n  b\n\n", 4)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		s, root := Parse("f", []byte(text))
		if root == nil {
			if s.Err() == nil {
				t.Error("no document and no mistake")
			}
			return
		}
		s.Object(root, "it", Fields{"a": func(n *Node) { s.Text(n, "a") }}, "a")
		for _, n := range append(root.Content, root) {
			if line, col := s.Place(n, offset%1000); line < 1 || col < 1 {
				t.Errorf("%d:%d", line, col)
			}
		}
	})
}

func TestWithout(t *testing.T) {
	in := "a: 1\nexplain: |\n  b: 2\n\n  c\nwhen: x\nexamples:\n- {a: b}\n"
	if got, want := string(Without([]byte(in), "explain", "examples")), "a: 1\n\n\n\n\nwhen: x\n\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
