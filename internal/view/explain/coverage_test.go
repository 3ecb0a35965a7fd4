package explain

import (
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/coverage"
	"plumb/internal/explain"
	"plumb/internal/rule"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

func claim(t *testing.T, product, text string) rule.Claim {
	t.Helper()
	c := rule.Claim{Product: product, Text: text}
	for one := range strings.SplitSeq(text, ", ") {
		if one == "any" {
			continue
		}
		r, err := catalog.ParseRange(one)
		if err != nil {
			t.Fatal(err)
		}
		c.Ranges = append(c.Ranges, r)
	}
	return c
}

func testStandings(t *testing.T) ([]*rule.Rule, []coverage.Standing) {
	maria, zfs := coverage.Product{Name: "mariadb", Version: "10.11.19"}, coverage.Product{Name: "zfs-fuse"}
	return []*rule.Rule{{ID: "a/fired"}, {ID: "a/quiet"}, {ID: "b/versions"}, {ID: "c/alike"}, {ID: "c/replica"}, {ID: "d/alike"}},
		[]coverage.Standing{
			{Met: []coverage.Meeting{{On: []coverage.Product{maria, zfs}, Says: rule.Fires, Host: "one"}, {On: []coverage.Product{maria}, Says: rule.Quiet, Host: "two"},
				{On: []coverage.Product{{Name: "mysql", Version: "9.7.0"}}, Says: rule.Quiet, Host: "three", Day: "2026-11-22"}}},
			{Met: []coverage.Meeting{{Says: rule.Quiet, Host: "two"}}},
			{Wants: [][]rule.Claim{{claim(t, "mysql", "8.0.30-"), claim(t, "percona", "-5.7"), claim(t, "mariadb", "10.11.14-10.11, 11.8")}, {claim(t, "openzfs", "2.0-2.3.8, 2.4.0-2.4.3")}}},
			{Wants: [][]rule.Claim{{claim(t, "mongodb", "any")}}},
			{},
			{Wants: [][]rule.Claim{{claim(t, "mongodb", "any")}}},
		}
}

func TestUnmetIsGroupedByWhatIsWanted(t *testing.T) {
	rules, standings := testStandings(t)
	want := `needs MongoDB
    c/alike
    d/alike

needs MySQL 8.0.30 and later, Percona Server up to 5.7 or MariaDB 10.11.14 to the end of 10.11, 11.8 with OpenZFS 2.0 to
2.3.8, 2.4.0 to 2.4.3
    b/versions

needs a host with the other things that it asks about; its products have been tested
    c/replica

4 rules of 6 have not been tested on a real host with the versions they are for · tested: 2, of which 1 fired there ·
plumb explain RULE says where
`
	got := Untested(rules, standings, page.Screen{Width: 120})
	if flat(got) != flat(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, width := range []int{60, 80, 120} {
		viewtest.Fits(t, "the list", Untested(rules, standings, page.Screen{Width: width}), width)
	}
}

// flat takes the breaks of lines out.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestRuleSaysWhatItHasMet(t *testing.T) {
	rules, standings := testStandings(t)
	for i, want := range map[int]string{
		0: "tested fires on MariaDB 10.11.19, zfs-fuse does not fire on MariaDB 10.11.19 · MySQL 9.7.0",
		1: "tested does not fire on two",
		3: "tested on no real host yet: needs MongoDB",
		4: "tested on no real host yet: needs a host with the other things that it asks about; its products have been tested",
	} {
		if got := flat(Rule(rules[i], explain.Proof{Standing: &standings[i]}, page.Screen{Width: 80})); !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if got := flat(Rule(rules[0], explain.Proof{}, page.Screen{Width: 80})); strings.Contains(got, " tested ") {
		t.Errorf("what was not read is told: %s", got)
	}
}

func TestRulesDocumentFitsItsSchema(t *testing.T) {
	rules, standings := testStandings(t)
	rules[2].Range = []rule.Claim{claim(t, "openzfs", "2.3-")}
	doc := RulesDocument(rules, standings, "test")
	viewtest.FitsSchema(t, schema.Of("rules"), doc)
	if got := doc.Rules[0].Met; len(got) != 3 || strings.Join(got[0].On, ", ") != "mariadb 10.11.19, zfs-fuse" || got[0].Says != "fires" || got[2].Day != "2026-11-22" || doc.Rules[0].Needs != "" {
		t.Errorf("got %+v", doc.Rules[0])
	}
	if got := doc.Rules[2]; len(got.Met) != 0 || got.Range["openzfs"] != "2.3-" || !strings.HasPrefix(got.Needs, "MySQL 8.0.30 and later, ") {
		t.Errorf("got %+v", got)
	}
}
