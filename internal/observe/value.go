package observe

import (
	"errors"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// ValueIn reads a file that holds one value as the fact's type. Of several
// choices the one in brackets is in force.
func ValueIn(f *catalog.Fact, data []byte) (stack.Value, error) {
	text := strings.TrimSpace(string(data))
	if text == "" {
		return stack.Value{}, errors.New("it is empty")
	}
	if f.Type == catalog.Text && strings.ContainsAny(text, "[]") {
		word, ok := Chosen(text)
		if !ok {
			return stack.Value{}, errors.New("it shows no choice in brackets")
		}
		text = word
	}
	return catalog.ParseValue(f, text)
}

// Chosen gives the word in brackets of a list of choices, "always [madvise]
// never"; ok is false where there is none.
func Chosen(text string) (word string, ok bool) {
	_, rest, open := strings.Cut(text, "[")
	word, _, closed := strings.Cut(rest, "]")
	word = strings.TrimSpace(word)
	return word, open && closed && word != ""
}

// SetFigures records the facts that are counted in one file, by their names
// there. One that the file does not list is not counted by this version.
func SetFigures(t *stack.Thing, counted map[string]int64, facts []catalog.Source, from string) {
	for _, s := range facts {
		if n, ok := counted[s.Name]; ok {
			t.Set(s.Fact.Name, stack.Int(n), from)
		} else {
			t.SetAbsent(s.Fact.Name, from)
		}
	}
}
