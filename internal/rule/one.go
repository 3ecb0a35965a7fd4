package rule

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/sheet"
)

// LoadOne reads one rule by its id without compiling the others: explain
// starts in a few milliseconds. The error is fs.ErrNotExist when there is no
// such rule.
func LoadOne(fsys fs.FS, cat *catalog.Catalog, id string) (*Rule, error) {
	name := path.Join("rules", id) + ".yaml"
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("read rule %s: %w", id, fs.ErrNotExist)
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("read rule %s: %w", id, err)
	}
	c, err := newCompiler(cat)
	if err != nil {
		return nil, err
	}
	r, tested := c.file(name, id, data)
	return r, sheet.Join(tested.Mistakes)
}

// WrittenRemedy is a remedy as it stands in the rule's file.
type WrittenRemedy struct {
	If   string // CEL; "" for always
	Knob string // variable#knob; "" for a text
	To   string // CEL
	Do   string // text with {expressions}
	Note string // text with {expressions}
}

// Written gives the remedies as they are written, for explaining.
func (r *Rule) Written() []WrittenRemedy {
	var out []WrittenRemedy
	for _, m := range r.remedies {
		w := WrittenRemedy{Do: m.do.written(), Note: m.note.written()}
		if m.cond != nil {
			w.If = m.cond.source
		}
		if m.knob != nil {
			w.Knob, w.To = m.name+"#"+m.knob.Name, m.to.source
		}
		out = append(out, w)
	}
	return out
}

func (t *template) written() string {
	if t == nil {
		return ""
	}
	var out strings.Builder
	for _, p := range t.parts {
		out.WriteString(p.text)
		if p.expr != nil {
			out.WriteString("{" + p.expr.source + "}")
		}
	}
	return out.String()
}
