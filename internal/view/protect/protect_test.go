package protect

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/prune"
	"plumb/internal/protect/replicate"
	"plumb/internal/protect/rollback"
	"plumb/internal/protect/tables"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

var narrow = page.Screen{Width: 80}

func TestPages(t *testing.T) {
	refused := errors.New("a point of mysql:3306 would lack /dev/shm/x, which is on tmpfs (tmpfs), where no snapshots can be taken")
	for name, text := range map[string]string{
		"plan":   Plan(plan, "locked", nil, narrow) + "---\n" + Plan(bad, "", refused, narrow),
		"point":  Point(proven(), narrow) + "---\n" + Point(fallen(), narrow) + "---\n" + Point(bare(), narrow) + "---\n" + Point(others(), narrow) + "---\n" + Point(unjudged(), narrow),
		"points": Points([]protect.Point{proven(), fallen(), bare()}, lostOnes(), narrow) + Foreign(taken(), narrow) + "---\n" + Points(nil, nil, narrow),
		"clones": Clones(clones(), narrow) + "---\n" + Clones(nil, narrow),
		"status": Status(status(), narrow) + "---\n" + Status(policy.Assess(policy.Seen{Now: at}), narrow) + "---\n" +
			Status(policy.Assess(policy.Seen{Now: at, Points: []protect.Point{proven()}, Facts: map[string]keep.Facts{proven().ID: {Unread: "the pool tank is not imported, so nothing is known of its snapshots", Space: -1}}}), narrow) + "---\n" +
			Status(policy.Assess(policy.Seen{Now: at, Points: []protect.Point{proven()}, Facts: map[string]keep.Facts{proven().ID: {Unread: "another command took them", Unasked: true, Space: -1}}}), narrow),
		"moves": Replicated(sent, narrow) + "---\n" + Replicated(near, narrow) + "---\n" + RollbackPlan(back, narrow) + "---\n" + RolledBack(rollback.Result{Change: 7, Before: []string{"tank/db/data.before-x"}, Position: where, Down: 8 * time.Second}, narrow),
		"run":   Run(report, false, narrow) + "---\n" + Run(report, true, narrow) + "---\n" + Run(policy.Report{Busy: true}, false, narrow),
		"table": TablePlan(oneTable, narrow) + "---\n" + TableBack(oneTable, tables.Result{Change: 7, Took: 3 * time.Second}, narrow),
		"prune": Prune(plans(), narrow) + "---\n" + Prune(nil, narrow) + "---\n" + Pruned([]prune.Outcome{{Point: "a", Gone: true}, {Point: "b", Gone: true}, {Point: "c", Why: "held"}}, narrow) +
			"---\n" + Prune(forgotten(), narrow) + "---\n" + Pruned(forgot, narrow),
	} {
		viewtest.Golden(t, name+".txt", text)
		viewtest.Fits(t, name, text, 80)
	}
}

func TestDocumentsFitTheirSchemas(t *testing.T) {
	unread := errors.New("read a.json: damaged\nread b.json: damaged")
	for name, docs := range map[string][]any{
		"snapshot":       {SnapshotDocument(plan, fallen()), PlanDocument(plan, "locked", nil), PlanDocument(bad, "", errors.New("refused")), PlanDocument(protect.Plan{}, "", nil)},
		"drill":          {DrillDocument(proven()), DrillDocument(protect.Point{}), DrillDocument(unjudged())},
		"points":         {PointsDocument("/var/lib/plumb/points", []protect.Point{proven(), fallen(), bare()}, lostOnes(), taken(), unread), PointsDocument("/x", nil, nil, nil, nil)},
		"clones":         {ClonesDocument(clones(), unread), ClonesDocument(nil, nil)},
		"protect-status": {StatusDocument(status()), StatusDocument(policy.Status{})},
		"replicate":      {ReplicateDocument(sent), ReplicateDocument(near), ReplicateDocument(replicate.Result{})},
		"rollback":       {RollbackDocument(back, rollback.Result{Change: 7}), RollbackPlanDocument(rollback.Plan{})},
		"rollback-table": {TableDocument(oneTable, tables.Result{Change: 7}), TablePlanDocument(tables.Plan{})},
		"protect-run":    {RunDocument("/etc/plumb/protect.yaml", false, report), RunDocument("", true, policy.Report{})},
		"prune":          {PruneDocument(append(plans(), forgotten()...), keep.Rules{Last: 1}, false, append([]prune.Outcome{{Point: "a", Gone: true}}, forgot...)), PruneDocument(nil, keep.Rules{Last: 1}, true, nil)},
	} {
		for i, doc := range docs {
			viewtest.FitsSchema(t, schema.Of(name), doc)
			text, err := page.JSON(doc)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"SECRET", "UPDATE secret", `"data/x"`} {
				if strings.Contains(string(text), secret) {
					t.Errorf("%s holds %s", name, secret)
				}
			}
			if i == 0 {
				viewtest.Golden(t, name+".json", string(text))
			}
		}
	}
}

// A copy that started, and stands elsewhere than the point, is not said to be well.
func TestInexactDrill(t *testing.T) {
	p, inexact := proven(), false
	p.Drill.Exact = &inexact
	p.Replicas[0].Drill.Exact = &inexact
	text := strings.Join(strings.Fields(Point(p, narrow)), " ")
	if strings.Contains(text, "all checks passed") || strings.Contains(text, "a copy was started there") || strings.Count(text, "recovered to another position") != 2 {
		t.Errorf("it says %s", text)
	}
}

// A clone that has ended is not shown as one that runs.
func TestEndedClone(t *testing.T) {
	all := clones()
	all[0].State = clone.Ended
	if text := Clones(all[:1], narrow); !strings.Contains(text, "no longer runs") {
		t.Errorf("it says %s", text)
	}
}

// What strangers named is one line each, and drives nothing.
func TestNamesStayNames(t *testing.T) {
	odd := "x\nproven\x1b[2J"
	p := proven()
	p.Server.Product, p.Doubts, p.Holds[0].Owner, p.Members[0].Snapshot, p.Drill.Why = odd, []string{odd}, odd, odd, odd
	p.Drill.OK, p.Drill.Checks[0].Wrong = false, odd
	c := clones()
	c[0].Name, c[0].Run, c[0].Product = odd, odd, odd
	broken := bad
	broken.Set.Strays, broken.Set.Others, broken.Set.Volumes = []protect.Stray{{Path: odd, Why: odd}}, []string{odd}, []protect.Volume{{Name: odd, Mountpoint: odd}}
	wide := page.Screen{Width: 120}
	for line := range strings.Lines(Point(p, wide) + Points([]protect.Point{p}, nil, wide) + Clones(c, wide) + Plan(broken, "", errors.New(odd), wide)) {
		if strings.Contains(line, "\x1b") || strings.HasPrefix(strings.TrimSpace(line), "proven?") {
			t.Errorf("%q", line)
		}
	}
}
