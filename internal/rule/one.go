package rule

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/strictyaml"
)

// Read reads one rule as it is written, for explaining: it compiles nothing,
// and the rule cannot judge. Of the catalogue it needs the links of kinds. The
// error is fs.ErrNotExist when there is no such rule.
func Read(fsys fs.FS, cat *catalog.Catalog, id string) (*Rule, error) {
	name := path.Join("rules", id) + ".yaml"
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("read rule %s: %w", id, fs.ErrNotExist)
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("read rule %s: %w", id, err)
	}
	c := &compiler{cat: cat}
	d, err := c.written(name, id, data, requiredKeys)
	if err != nil {
		return nil, err
	}
	return d.rule, nil
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
func (r *Rule) Written() []WrittenRemedy { return slices.Clone(r.written) }

// writtenRemedy takes the texts of a remedy; what is wrong with them is said
// when they are compiled.
func writtenRemedy(n *strictyaml.Node) (w WrittenRemedy) {
	into := map[string]*string{"if": &w.If, "knob": &w.Knob, "to": &w.To, "do": &w.Do, "note": &w.Note}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if text := into[n.Content[i].Value]; text != nil {
			*text = strings.TrimRight(n.Content[i+1].Value, "\n ")
		}
	}
	return w
}
