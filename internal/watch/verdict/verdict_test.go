package verdict_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
)

func load(t testing.TB) []*rule.Limit {
	t.Helper()
	cat := hosttest.Windows(t)
	all, err := verdict.Load(knowledge.FS, cat)
	if err != nil {
		t.Fatalf("knowledge:\n%v", err)
	}
	return all
}

// TestEmbeddedVerdicts loads all, which tries their examples, and asks that what
// they name is there.
func TestEmbeddedVerdicts(t *testing.T) {
	all, ids := load(t), verdict.IDs(knowledge.FS)
	if len(all) < 20 || len(all) != len(ids) {
		t.Fatalf("%d verdicts of %d files", len(all), len(ids))
	}
	for _, l := range all {
		for _, cause := range l.Causes {
			if !slices.Contains(ids, cause) || cause == l.ID {
				t.Errorf("%s is caused by %s, which is no other verdict", l.ID, cause)
			}
		}
		for _, id := range l.Rules {
			if _, err := fs.Stat(knowledge.FS, "rules/"+id+".yaml"); err != nil {
				t.Errorf("%s links to the rule %s: %v", l.ID, id, err)
			}
		}
		for kind, share := range l.Share {
			_, chosen, chooses := strings.Cut(share, " ? ")
			if !chooses {
				chosen = share
			}
			for _, one := range strings.Split(chosen, " : ") {
				if name, isShare := strings.CutPrefix(one, "db.share_"); !isShare || strings.ContainsAny(name, " .") {
					t.Errorf("%s: its share of %s is %s, which has no interval", l.ID, kind, one)
				}
			}
		}
		if len(l.Against) == 0 || len(l.Do) == 0 {
			t.Errorf("%s looks for nothing against it, or says nothing to do", l.ID)
		}
	}
}

// TestCausesHaveNoCircle: of two verdicts that bring each other about, none
// would be the limit.
func TestCausesHaveNoCircle(t *testing.T) {
	causes := map[string][]string{}
	for _, l := range load(t) {
		causes[l.ID] = l.Causes
	}
	var below func(id string, above []string)
	below = func(id string, above []string) {
		if slices.Contains(above, id) {
			t.Fatalf("a circle: %v and %s again", above, id)
		}
		for _, c := range causes[id] {
			below(c, append(slices.Clone(above), id))
		}
	}
	for id := range causes {
		below(id, nil)
	}
}

func TestReadForExplaining(t *testing.T) {
	l, err := verdict.Read(knowledge.FS, "device/saturated")
	if err != nil || l.Explain == "" || l.When["postgres"] == "" || len(l.For["mysql"]) != 2 {
		t.Errorf("%+v, %v", l, err)
	}
	for _, id := range []string{"device/none", "../rules/zfs/fuse", ""} {
		if _, err := verdict.Read(knowledge.FS, id); err == nil {
			t.Errorf("%q was read", id)
		}
	}
}
