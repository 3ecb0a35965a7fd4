package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/knowledge"
)

// FactsNamed finds facts by name, as written or as shown, with or without
// the kind or thing before a #.
func FactsNamed(cat *catalog.Catalog, name string) []*catalog.Fact {
	of, name, qualified := strings.Cut(name, "#")
	if !qualified {
		of, name = "", of
	}
	kind, _, _ := strings.Cut(of, ":")
	var out []*catalog.Fact
	for _, k := range cat.Kinds {
		for _, f := range k.Facts {
			if (kind == "" || kind == k.Name) && (f.Name == name || f.Shown == name && name != "") {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b *catalog.Fact) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// RulesUsing finds the rules whose text names a fact. It reads the files as
// text, because compiling all rules takes longer than a person waits for a
// page; a fact of the same name on another kind is found too.
func RulesUsing(f *catalog.Fact, ids []string) []string {
	var out []string
	for _, id := range ids {
		text, err := fs.ReadFile(knowledge.FS, "rules/"+id+".yaml")
		if err == nil && uses(text, f.Name) {
			out = append(out, id)
		}
	}
	return out
}

// uses reports whether a rule's text names a fact: .name or #name.
func uses(text []byte, name string) bool {
	for {
		i := bytes.Index(text, []byte(name))
		if i < 0 {
			return false
		}
		after := text[i+len(name):]
		if i > 0 && (text[i-1] == '.' || text[i-1] == '#') && (len(after) == 0 || !inName(after[0])) {
			return true
		}
		text = after
	}
}

func inName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// NotKnown says that nothing has this name, and what comes close.
func NotKnown(cat *catalog.Catalog, ids []string, name string) error {
	known := slices.Clone(ids)
	for _, id := range ids {
		known = append(known, path.Base(id))
	}
	for _, k := range cat.Kinds {
		for _, f := range k.Facts {
			known = append(known, cmp.Or(f.Shown, f.Name))
		}
	}
	slices.Sort(known)
	return hint.Usage(fmt.Sprintf("no rule, setting, fact or verdict is called %q", name), cmp.Or(hint.Meant(name, known), "plumb rules lists the rules"))
}
