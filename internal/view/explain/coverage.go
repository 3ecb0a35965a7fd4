package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/coverage"
	"plumb/internal/hint"
	"plumb/internal/product"
	"plumb/internal/rule"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// meetings writes what a rule has met, or what it would have to.
func meetings(p *page.Page, s coverage.Standing) {
	if s.Untested() {
		p.Hang(page.Normal, "    tested    ", "on no real host yet: needs "+wanted(s.Wants))
		return
	}
	var tested []string
	for _, says := range []rule.Outcome{rule.Fires, rule.Quiet} {
		if on := places(s.Met, says); len(on) > 0 {
			tested = append(tested, saysText(says)+" "+strings.Join(on, " · "))
		}
	}
	p.List(page.Normal, "    tested    ", tested)
}

func saysText(o rule.Outcome) string {
	if o == rule.Fires {
		return "fires on"
	}
	return "does not fire on"
}

// places lists what a rule was judged on with one answer.
func places(list []coverage.Meeting, says rule.Outcome) []string {
	var out []string
	for _, m := range list {
		if m.Says != says {
			continue
		}
		names := make([]string, len(m.On))
		for i, product := range m.On {
			names[i] = strings.TrimSpace(productTitle(product.Name) + " " + product.Version)
		}
		if text := cmp.Or(strings.Join(names, ", "), m.Host); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// wanted says what a rule would have to meet.
func wanted(groups [][]rule.Claim) string {
	if len(groups) == 0 {
		return "a host with the other things that it asks about; its products have been tested"
	}
	var all []string
	for _, claims := range groups {
		names := make([]string, len(claims))
		for i, c := range claims {
			names[i] = strings.TrimSpace(productTitle(c.Product) + " " + rangesText(c))
		}
		all = append(all, hint.OneOf(names))
	}
	return strings.Join(all, " with ")
}

// rangesText writes the versions of a claim for people; "" for all.
func rangesText(c rule.Claim) string {
	parts := make([]string, len(c.Ranges))
	for i, r := range c.Ranges {
		parts[i] = rangeText(r)
	}
	return strings.Join(parts, ", ")
}

func rangeText(r catalog.Range) string {
	switch {
	case r.To == nil:
		return r.From.String() + " and later"
	case r.From == nil:
		return "up to " + r.To.String()
	case slices.Equal(r.From, r.To):
		return r.From.String()
	case len(r.To) < len(r.From) && slices.Equal(r.From[:len(r.To)], r.To):
		return r.From.String() + " to the end of " + r.To.String()
	}
	return r.From.String() + " to " + r.To.String()
}

// productTitle is what people call a product of a rule's claims.
func productTitle(name string) string {
	titles := map[string]string{
		"galera": "Galera", "openzfs": "OpenZFS", "xfs": "XFS", "nfs": "NFS", "nvme": "NVMe", "ebs": "EBS", "azure-disk": "Azure disks", "ceph": "Ceph",
		"cgroup": "control groups", "linux": "Linux",
	}
	return cmp.Or(product.ClaimLabel(name), titles[name], name)
}

// Untested lists the rules not tested on a real host with the versions they are
// for, by what they would have to meet, and counts the others. standings are those of
// the rules, in their order.
func Untested(rules []*rule.Rule, standings []coverage.Standing, screen page.Screen) string {
	p := page.NewPage(screen)
	by := map[string][]string{}
	fired := 0
	for i, r := range rules {
		switch s := standings[i]; {
		case s.Untested():
			by[wanted(s.Wants)] = append(by[wanted(s.Wants)], r.ID)
		case slices.ContainsFunc(s.Met, func(m coverage.Meeting) bool { return m.Says == rule.Fires }):
			fired++
		}
	}
	untested := 0
	for _, want := range slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(len(by[b])-len(by[a]), cmp.Compare(a, b)) }) {
		p.Para(page.Bold, 0, "needs "+want)
		for _, id := range by[want] {
			p.Para(page.Normal, 4, id)
			untested++
		}
		p.Blank()
	}
	p.Hang(page.Dim, "", fmt.Sprintf("%s not been tested on a real host with the versions they are for · tested: %d, of which %d fired there · plumb explain RULE says where",
		units.Counted(untested, "rule", fmt.Sprintf("of %d has", len(rules)), fmt.Sprintf("of %d have", len(rules))), len(rules)-untested, fired))
	return p.String()
}
