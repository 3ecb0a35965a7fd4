package rule

import (
	"strings"

	"cel.dev/cel-go/cel"

	"plumb/internal/catalog"
)

// template is a text with {expressions} in it. {{ and }} stand for braces.
type template struct{ parts []part }

// part is a piece of plain text, or an expression.
type part struct {
	text string
	expr *expression
}

// notKnown stands in a text for a value that could not be read.
const notKnown = "?"

// template compiles a text.
func (s *scope) template(text string) (*template, []problem) {
	t := &template{}
	var plain strings.Builder
	var wrong []problem
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if (r == '{' || r == '}') && i+1 < len(runes) && runes[i+1] == r {
			plain.WriteRune(r)
			i++
			continue
		}
		if r == '}' {
			wrong = append(wrong, problem{offset: i, msg: "} without a {: write }} for a brace"})
			continue
		}
		if r != '{' {
			plain.WriteRune(r)
			continue
		}
		end := closing(runes, i+1)
		if end < 0 {
			return nil, append(wrong, problem{offset: i, msg: "{ without a }: write {{ for a brace"})
		}
		e, bad := s.compile(string(runes[i+1:end]), false)
		for _, p := range bad {
			if p.syntax {
				p.msg += " (what is in braces is an expression; a plain brace is written {{ or }})"
			}
			wrong = append(wrong, problem{offset: i + 1 + p.offset, msg: p.msg})
		}
		if e != nil {
			if p, ok := showable(e); !ok {
				wrong = append(wrong, problem{offset: i + 1, msg: p})
			}
			t.parts = append(t.parts, part{text: plain.String()}, part{expr: e})
			plain.Reset()
		}
		i = end
	}
	t.parts = append(t.parts, part{text: strings.TrimRight(plain.String(), "\n ")})
	return t, wrong
}

// closing finds the } that ends an expression, over quotes and inner braces.
func closing(runes []rune, from int) int {
	depth, quote := 0, rune(0)
	for i := from; i < len(runes); i++ {
		switch r := runes[i]; {
		case quote != 0 && r == '\\':
			i++
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{':
			depth++
		case r == '}' && depth == 0:
			return i
		case r == '}':
			depth--
		}
	}
	return -1
}

func showable(e *expression) (string, bool) {
	switch t := e.ast.OutputType(); t.Kind() {
	case cel.BoolKind, cel.IntKind, cel.DoubleKind, cel.StringKind, cel.ListKind, cel.StructKind, cel.OpaqueKind, cel.DynKind:
		return "", true
	default:
		return "a text cannot show " + t.String(), false
	}
}

// render writes the text for the things bound. What cannot be computed is
// written as "?".
func (t *template) render(b things) string {
	if t == nil {
		return ""
	}
	var out strings.Builder
	for _, p := range t.parts {
		if p.expr == nil {
			out.WriteString(p.text)
			continue
		}
		out.WriteString(p.expr.shown(b))
	}
	return out.String()
}

// told writes only the sentences in which all is known: of a moment some of it passes sooner than the rest. Where no
// sentence is left it is the whole text.
func (t *template) told(b things) string {
	var all, sentence strings.Builder
	known := true
	end := func() {
		if known {
			all.WriteString(sentence.String())
		}
		sentence.Reset()
		known = true
	}
	for _, p := range t.parts {
		if p.expr != nil {
			value := p.expr.shown(b)
			known = known && value != notKnown
			sentence.WriteString(value)
			continue
		}
		for i, piece := range strings.SplitAfter(p.text, ". ") {
			if i > 0 {
				end()
			}
			sentence.WriteString(piece)
		}
	}
	if end(); all.Len() == 0 {
		return t.render(b)
	}
	return strings.TrimRight(all.String(), " ")
}

// shown writes the expression's value; a bare fact with its unit.
func (e *expression) shown(b things) string {
	v, err := e.value(b)
	if err != nil {
		return notKnown
	}
	if e.fact != nil {
		return catalog.Show(e.fact.fact, v)
	}
	if text, isText := v.Text(); isText {
		return text
	}
	return catalog.Show(nil, v)
}
