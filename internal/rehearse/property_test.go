package rehearse

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/stack"
)

// anyValue draws what a fact of a type, or a broken one, can be.
func anyValue(t *rapid.T, f *catalog.Fact) stack.Value {
	if f != nil && rapid.IntRange(0, 9).Draw(t, "sound") > 0 {
		switch f.Type {
		case catalog.Bool:
			return stack.Bool(rapid.Bool().Draw(t, "bool"))
		case catalog.Text:
			if len(f.Knob.Values) > 0 {
				return stack.Text(rapid.SampledFrom(f.Knob.Values).Draw(t, "word"))
			}
			return stack.Text(rapid.SampledFrom([]string{"on", "0", "fsync", "a, b", "it's", `say "x" # y`, "/var/lib", "yes: no", "", "1e5", "~", "- x", "€"}).Draw(t, "text"))
		case catalog.Float, catalog.Ratio, catalog.Percent, catalog.Rate:
			return stack.Float(rapid.Float64Range(-1, 1e9).Draw(t, "float"))
		case catalog.List:
			return stack.List([]string{"a", "b"})
		}
		return stack.Int(rapid.SampledFrom([]int64{-1, 0, 1, 2, 100, 4096, 16384, 1 << 20, 1<<30 + 1, 48 << 30, 1 << 62}).Draw(t, "int"))
	}
	return rapid.SampledFrom([]stack.Value{{}, stack.Text("a\nb"), stack.Int(7), stack.Float(0.25), stack.Bool(true), stack.Text(strings.Repeat("long ", 60)), stack.List(nil)}).Draw(t, "broken")
}

// anyServer draws a server with settings of any origin on a machine of any
// size.
func anyServer(t *rapid.T) (*stack.Stack, stack.Ref) {
	s, db := mariadb()
	kind := rapid.SampledFrom([]string{"mysql", "postgres"}).Draw(t, "kind")
	if kind == "postgres" {
		links := db.Links
		db = stack.NewThing("postgres", "5432")
		db.Links = links
		db.Set("flavor", stack.Text("postgres"), "test")
		db.Set("version", stack.Text("17.5"), "test")
		s.Add("test", stack.Observation{Things: []*stack.Thing{db}})
		s.Roles[0].DB = db.Ref
	} else {
		db.Set("flavor", stack.Text(rapid.SampledFrom([]string{"mariadb", "mysql", "percona"}).Draw(t, "flavor")), "test")
	}
	names := slices.Sorted(maps.Keys(known().Knobs(kind)))
	names = append(names, "server_audit_logging", "innodb_unknown", "pg_stat_statements.max", "bad name", "UPPER")
	origins := []string{stack.FromFile, stack.FromCommand, stack.FromPersisted, stack.FromRuntime, stack.FromDefault, stack.FromComputed}
	for range rapid.IntRange(0, 25).Draw(t, "settings") {
		name := rapid.SampledFrom(names).Draw(t, "setting")
		db.Setting(name, anyValue(t, known().Fact(kind, name)), "test", stack.Origin{From: rapid.SampledFrom(origins).Draw(t, "origin")})
	}
	sizes := []int64{0, 1, 100 << 20, 3 << 30, 500 << 30, 1 << 62}
	db.Set("innodb_data_size", stack.Int(rapid.SampledFrom(sizes).Draw(t, "data")), "test")
	db.Set("data_size", stack.Int(rapid.SampledFrom(sizes).Draw(t, "data")), "test")
	s.Host().Set("memory_total", stack.Int(rapid.SampledFrom(sizes).Draw(t, "memory")), "test")
	s.Host().Set("memory_available", stack.Int(rapid.SampledFrom(sizes).Draw(t, "free")), "test")
	if rapid.Bool().Draw(t, "zfs") {
		dataset := stack.NewThing("dataset", "tank/db")
		dataset.Setting("recordsize", stack.Int(128<<10), "zfs", stack.Origin{From: stack.FromLocal})
		s.Add("test", stack.Observation{Things: []*stack.Thing{dataset}})
		s.Find(stack.Ref{Kind: "filesystem", Name: "/srv"}).Links["dataset"] = []stack.Ref{dataset.Ref}
	}
	return s, db.Ref
}

// anyPlan draws steps on the server and on other things.
func anyPlan(t *rapid.T, server stack.Ref) (plan advise.Plan) {
	things := []stack.Ref{server, server, server, server, {Kind: "dataset", Name: "tank/db"}, {Kind: "host", Name: "db1"}, {Kind: "pool", Name: "tank"}, {Kind: "mysql", Name: "9"}, {Kind: "odd", Name: "x"}}
	taken := map[stack.Knob]bool{}
	for i := range rapid.IntRange(0, 40).Draw(t, "steps") {
		of := rapid.SampledFrom(things).Draw(t, "of")
		names := slices.Sorted(maps.Keys(known().Knobs(of.Kind)))
		knob := stack.Knob{Of: of, Name: rapid.SampledFrom(append(names, "no such: knob")).Draw(t, "knob")}
		if taken[knob] {
			continue
		}
		taken[knob] = true
		f := known().Fact(of.Kind, knob.Name)
		s := advise.Step{Knob: knob, To: anyValue(t, f), Why: []string{fmt.Sprint("rule/", i)}}
		s.DurabilityFrom = rapid.SampledFrom([]string{catalog.Safe, catalog.MayLose}).Draw(t, "before")
		s.DurabilityTo = rapid.SampledFrom([]string{catalog.Safe, catalog.MayLose}).Draw(t, "after")
		plan.Steps = append(plan.Steps, s)
	}
	return plan
}

func anyWant(t *rapid.T, server stack.Ref) Want {
	return Want{Server: server, Workload: rapid.SampledFrom([]string{"", "tpcc", "oltp_point_select"}).Draw(t, "workload"), Threads: rapid.IntRange(0, 100).Draw(t, "threads"),
		Volume: rapid.SampledFrom([]string{"", "", "gp3"}).Draw(t, "volume"), Data: experiment.Bytes(rapid.SampledFrom([]int64{0, 1 << 20, 1 << 30}).Draw(t, "most data")),
		Budget: time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute, WithoutOne: rapid.Bool().Draw(t, "without one"), Host: rapid.Bool().Draw(t, "host")}
}

// Whatever the host and the plan, what comes out is an error with a hint, or
// experiments that can be read back, in which every step is tried or left with
// a reason. Whatever the trials then show, no step is kept with which a
// server fails, and none that is less durable.
func TestAnyPlanIsTriedOrLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, server := anyServer(t)
		plan := anyPlan(t, server)
		p, err := Propose(s, known(), plan, func(rule string) Importance { return Importance{strings.HasSuffix(rule, "1"), len(rule) % 3} }, anyWant(t, server))
		if err != nil {
			if _, ok := errors.AsType[hint.Hinted](err); !ok || strings.Contains(err.Error(), "no sound experiment") {
				t.Fatalf("no error that a person can do something about: %v", err)
			}
			return
		}
		zfs := s.Find(stack.Ref{Kind: "dataset", Name: "tank/db"}) != nil
		own := slices.DeleteFunc(slices.Clone(plan.Steps), func(a advise.Step) bool {
			of := a.Knob.Of
			return (of.Kind == "mysql" || of.Kind == "postgres") && of != server || of.Kind == "dataset" && !zfs || of.Kind == "pool"
		})
		if len(p.Steps) != len(own) {
			t.Fatalf("%d steps of %d", len(p.Steps), len(own))
		}
		arms := map[string]bool{}
		for _, stage := range p.Stages {
			x, err := experiment.Parse("again", stage.Text)
			if err != nil || x.Hash != stage.Experiment.Hash {
				t.Fatalf("%v\n%s", err, stage.Text)
			}
			for _, a := range x.Arms {
				arms[a.Name] = true
			}
		}
		for _, s := range p.Steps {
			if (s.Left == "") != (s.Arm != "") || s.Arm != "" && (!arms[s.Arm] || s.Path == "") {
				t.Fatalf("step %d is neither tried nor left: %+v", s.Number, s)
			}
		}
		judgeAny(t, p)
	})
}

func judgeAny(t *rapid.T, p Proposal) {
	var reports []report.Report
	for _, stage := range p.Stages[:rapid.IntRange(0, len(p.Stages)).Draw(t, "begun")] {
		reports = append(reports, anyReport(t, stage.Experiment))
	}
	r := Judge(p, reports, "")
	kept := 0
	for _, v := range r.Steps {
		if v.Keep {
			kept++
		}
		if v.Keep && (v.Failed != "" || catalog.Danger(v.Step.DurabilityTo) > catalog.Danger(v.Step.DurabilityFrom) || v.Word != Helps && (v.Word != WithAll || r.All.Word != Helps) && !v.Step.Safety) {
			t.Fatalf("kept: %+v", v)
		}
		if v.Why == "" && v.Step.Left == "" || v.Word == "" {
			t.Fatalf("no reason: %+v", v)
		}
	}
	if kept != len(r.Plan.Steps) {
		t.Fatalf("%d of %d in the plan", kept, len(r.Plan.Steps))
	}
}

func anyReport(t *rapid.T, x experiment.Experiment) report.Report {
	var all []experiment.Record
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	for block := range rapid.IntRange(0, 3).Draw(t, "blocks") {
		for _, trial := range experiment.Order(x, block+1) {
			at = at.Add(time.Minute)
			rec := experiment.Record{Trial: trial, Attempt: 1, Began: at, Ended: at.Add(time.Second), Metric: rapid.Float64Range(0, 2000).Draw(t, "rate")}
			switch mark := rapid.SampledFrom([]string{"", "", "", experiment.MarkFailed, experiment.MarkInvariant, experiment.MarkCut, experiment.MarkNotAsAsked}).Draw(t, "mark"); mark {
			case "":
			default:
				rec.Mark(mark, "it did not")
			}
			all = append(all, rec)
		}
	}
	return report.Make(x, all)
}
