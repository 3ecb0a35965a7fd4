package cli

import (
	"cmp"
	"path"
	"slices"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
)

func areaWords() []string {
	cat, _ := catalog.Load(knowledge.FS)
	if cat == nil {
		return nil
	}
	return check.Areas(check.RuleIDs(), cat)
}

// explainable lists the names that explain knows: rules, verdicts, facts and settings
// as people write them.
func explainable() []string {
	list := append(check.RuleIDs(), verdict.IDs(knowledge.FS)...)
	for _, id := range list {
		list = append(list, path.Base(id)) // as a name may be shortened
	}
	cat, _ := catalog.Load(knowledge.FS)
	if cat == nil {
		return list
	}
	for _, k := range cat.Kinds {
		for _, f := range k.Facts {
			list = append(list, cmp.Or(f.Shown, f.Name))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func harmWords() []string {
	var list []string
	for _, h := range advise.Harms() {
		list = append(list, string(h))
	}
	return list
}
