package playbook

import (
	"fmt"
	"strconv"
	"strings"
)

// pair is one entry of a mapping that keeps its order.
type pair struct {
	key   string
	value any // string, template, alias, block, bool, int, []string or mapping
}

// mapping is a YAML mapping.
type mapping []pair

// template is a text in which Ansible fills in {{ }}.
type template string

// block is a text of several lines that is taken as it is, and can be named.
type block string

// alias names the block of a key.
type alias string

// yamlWriter writes YAML that a person can read: the library would order keys
// and drop comments.
type yamlWriter struct{ strings.Builder }

func (w *yamlWriter) task(name string, tags []string, m ...pair) {
	w.item(4, append(append(mapping{{"name", oneLineOf(name)}}, m...), pair{"tags", tags}))
	w.WriteString("\n")
}

// item writes a mapping as an entry of a list.
func (w *yamlWriter) item(indent int, m mapping) {
	inner := yamlWriter{}
	inner.mapping(indent+2, m)
	w.WriteString(strings.Repeat(" ", indent) + "- " + inner.String()[indent+2:])
}

func (w *yamlWriter) mapping(indent int, m mapping) {
	for _, p := range m {
		w.WriteString(strings.Repeat(" ", indent) + p.key + ":")
		switch v := p.value.(type) {
		case mapping:
			w.WriteString("\n")
			w.mapping(indent+2, v)
		case []string:
			words := make([]string, len(v))
			for i, s := range v {
				words[i] = yamlText(s)
			}
			w.WriteString(" [" + strings.Join(words, ", ") + "]\n")
		case block:
			fmt.Fprintf(w, " &%s !unsafe |\n", p.key)
			for l := range strings.Lines(string(v)) {
				w.WriteString(strings.Repeat(" ", indent+2) + l)
			}
		case alias:
			w.WriteString(" *" + string(v) + "\n")
		case template:
			w.WriteString(" " + strconv.QuoteToASCII(string(v)) + "\n")
		case string:
			w.WriteString(" " + yamlText(v) + "\n")
		default:
			fmt.Fprintf(w, " %v\n", v)
		}
	}
}

// yamlText writes a text so that it is read as this text: no number, no truth
// value, no template, and no line of its own. What Go escapes in an ASCII text,
// YAML reads in double quotes.
func yamlText(s string) string {
	quoted := strconv.QuoteToASCII(s)
	if strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#") {
		return "!unsafe " + quoted
	}
	return quoted
}
