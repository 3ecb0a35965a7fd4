package statement

import (
	"slices"
	"strings"
)

// PlannableSelect reports whether a text, which somebody else wrote, is one SELECT
// that a server may be asked to explain. Explaining runs some of a statement:
// functions of constants. So one that calls what acts or waits is refused, as is
// every text that servers read in different ways. It cannot know other people's
// functions: who plans must have few rights.
func PlannableSelect(text string) bool { return plannable(text, false) }

// Plannable reports, as PlannableSelect does, whether a text is one SELECT, INSERT, UPDATE, DELETE or MERGE that may be explained.
func Plannable(text string) bool { return plannable(text, true) }

func plannable(text string, changes bool) bool {
	tokens, ok := sqlTokens(text)
	if ok && len(tokens) > 0 && tokens[len(tokens)-1] == ";" {
		tokens = tokens[:len(tokens)-1]
	}
	if !ok || len(tokens) == 0 || slices.Contains(tokens, ";") || slices.Contains(tokens, ":=") {
		return false
	}
	switch tokens[0] {
	case "select", "with", "values", "table", "(":
	case "insert", "update", "delete", "merge":
		if !changes {
			return false
		}
	default:
		return false
	}
	for i, token := range tokens {
		next := ""
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		if acts := sqlActs(token, next); acts && !(changes && part(token, next)) {
			return false
		}
	}
	return true
}

// part tells of a word that acts whether it is one of a statement that changes
// rows. Explained, it changes none.
func part(word, next string) bool {
	switch word {
	case "into":
		return next != "outfile" && next != "dumpfile" && !strings.HasPrefix(next, "@")
	case "insert", "update", "delete", "merge", "do", "for":
		return next != "("
	}
	return false
}
