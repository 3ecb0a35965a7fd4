package playbook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"plumb/internal/view/page"
)

// pair is one entry of a mapping that keeps its order.
type pair struct {
	key   string
	value any // string, template, bool, int, []string, []any, mapping, or block
}

// mapping is a YAML mapping.
type mapping []pair

// template is a text in which Ansible fills in {{ }}.
type template string

// block is a text of several lines that is taken as it is.
type block string

// yamlWriter writes YAML that a person can read: the library would order keys
// and fold texts as it likes, and drop comments between tasks.
type yamlWriter struct{ strings.Builder }

func (w *yamlWriter) line(indent int, s string) {
	w.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+s, " ") + "\n")
}

func (w *yamlWriter) comment(indent int, text string) {
	for _, l := range page.Wrap(page.Clean(text), 90-indent) {
		w.line(indent, "# "+l)
	}
}

// item writes a mapping as an entry of a list.
func (w *yamlWriter) item(indent int, m mapping) {
	inner := yamlWriter{}
	inner.mapping(indent+2, m)
	text := inner.String()
	w.WriteString(strings.Repeat(" ", indent) + "- " + text[indent+2:])
}

func (w *yamlWriter) mapping(indent int, m mapping) {
	for _, p := range m {
		w.entry(indent, yamlWord(p.key)+":", p.value)
	}
}

func (w *yamlWriter) entry(indent int, head string, value any) {
	switch v := value.(type) {
	case mapping:
		if len(v) == 0 {
			w.line(indent, head+" {}")
			return
		}
		w.line(indent, head)
		w.mapping(indent+2, v)
	case []mapping:
		w.line(indent, head)
		for _, m := range v {
			w.item(indent+2, m)
		}
	case []template:
		w.line(indent, head)
		for _, s := range v {
			w.line(indent+2, "- "+quotedYAML(string(s)))
		}
	case []string:
		if len(v) == 0 {
			w.line(indent, head+" []")
			return
		}
		words := make([]string, len(v))
		for i, s := range v {
			words[i] = yamlWord(s)
		}
		if flow := head + " [" + strings.Join(words, ", ") + "]"; len(flow) < 90-indent {
			w.line(indent, flow)
			return
		}
		w.line(indent, head)
		for _, s := range words {
			w.line(indent+2, "- "+s)
		}
	case block:
		w.line(indent, head+" !unsafe |")
		for l := range strings.Lines(string(v)) {
			w.line(indent+2, strings.ReplaceAll(strings.TrimRight(l, "\n"), "\t", "  "))
		}
	case template:
		w.line(indent, head+" "+quotedYAML(string(v)))
	case string:
		w.line(indent, head+" "+yamlWord(v))
	default:
		w.line(indent, fmt.Sprintf("%s %v", head, v))
	}
}

var plainYAML = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*( [A-Za-z0-9_./()-]+)*$`)

// yamlWord writes a text so that it is read as this text: no number, no truth
// value, and no template.
func yamlWord(s string) string {
	switch {
	case strings.Contains(s, "{{"), strings.Contains(s, "{%"), strings.Contains(s, "{#"):
		return "!unsafe " + quotedYAML(s)
	case plainYAML.MatchString(s) && !isYAMLWord(s):
		return s
	}
	return quotedYAML(s)
}

// isYAMLWord tells the words that stand for something else.
func isYAMLWord(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf":
		return true
	}
	return false
}

// quotedYAML writes a text in double quotes, as JSON does.
func quotedYAML(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // a string is always written
		panic(err)
	}
	return strings.TrimRight(b.String(), "\n")
}
