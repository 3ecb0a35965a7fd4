package strictyaml

import (
	"bytes"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// Place finds where rune number offset (from 0) of a scalar's value stands in
// the file, through quotes, folding and block indentation. It walks the source
// and the value side by side: what is between two characters of the value can
// only be white space, a quote or an escape.
func (s *Document) Place(n *Node, offset int) (line, col int) {
	s.split()
	line, col = n.Line-1, n.Column-1
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		line, col = line+1, 0
	}
	value := []rune(n.Value)
	atLine, atCol := n.Line, n.Column
	for i := 0; i <= offset && i < len(value); i++ {
		if unicode.IsSpace(value[i]) {
			continue
		}
		for line < len(s.lines) && (col >= len(s.lines[line]) || s.lines[line][col] != value[i]) {
			if col++; col >= len(s.lines[line]) {
				line, col = line+1, 0
			}
		}
		atLine, atCol = line+1, col+1
		col++
	}
	if line >= len(s.lines) && atLine > len(s.lines) {
		return n.Line, n.Column
	}
	if offset >= len(value) {
		atCol++
	}
	return atLine, atCol
}

func (s *Document) split() {
	if s.lines != nil {
		return
	}
	for line := range bytes.Lines(s.text) {
		s.lines = append(s.lines, []rune(strings.TrimRight(string(line), "\r\n")))
	}
}
