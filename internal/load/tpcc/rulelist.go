package tpcc

import (
	_ "embed" // the conditions
	"fmt"
	"slices"
	"sync"

	"plumb/internal/strictyaml"
)

//go:embed conditions.yaml
var conditions []byte

// rules are the conditions, in the order of their numbers.
var rules = sync.OnceValue(func() []rule {
	all, err := parseRules(conditions)
	if err != nil {
		panic(fmt.Sprintf("the conditions of tpcc: %v", err))
	}
	return all
})

// parseRules reads a list of rules.
func parseRules(text []byte) (all []rule, err error) {
	d, root := strictyaml.Parse("conditions.yaml", text)
	if root == nil {
		return nil, d.Err()
	}
	d.Items(root, "the file", func(n *strictyaml.Node) {
		r := rule{}
		d.Object(n, "a condition", strictyaml.Fields{
			"number": func(n *strictyaml.Node) { r.number = int(d.Number(n, "number")) },
			"says":   func(n *strictyaml.Node) { r.says = d.Text(n, "says") },
			"group":  func(n *strictyaml.Node) { r.group = d.Text(n, "group") },
			"keys":   func(n *strictyaml.Node) { r.keys = d.Texts(n, "keys") },
			"parts":  func(n *strictyaml.Node) { r.parts = d.Texts(n, "parts") },
			"having": func(n *strictyaml.Node) { r.having = d.Text(n, "having") },
			"is": func(n *strictyaml.Node) {
				is := d.Texts(n, "is")
				r.ranges, r.fresh = slices.Contains(is, "ranges"), slices.Contains(is, "fresh")
				r.exact, r.purged = slices.Contains(is, "exact"), slices.Contains(is, "purged")
			},
			"shows": func(n *strictyaml.Node) {
				d.Entries(n, "shows", func(key, value *strictyaml.Node) { r.shows = append(r.shows, key.Value, d.Text(value, "shows")) })
			},
		}, "number", "says", "group", "keys", "parts", "having", "shows")
		if all = append(all, r); r.number != len(all) {
			d.Errorf(n, "condition %d comes as number %d", r.number, len(all))
		}
	})
	return all, d.Err()
}
