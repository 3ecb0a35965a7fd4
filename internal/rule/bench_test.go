package rule_test

import (
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/knowledge"
)

// BenchmarkJudge judges one host that has a thing for each variable of each
// built-in example: far more than a real host has.
func BenchmarkJudge(b *testing.B) {
	base := embedded(b)
	s := &stack.Stack{}
	for _, kind := range []string{"host", "mysql", "postgres", "filesystem", "dataset", "pool", "block", "process", "zfs", "cgroup"} {
		s.Add("bench", stack.Observation{Things: []*stack.Thing{stack.NewThing(kind, "a")}})
	}
	for _, r := range base.Rules() {
		for _, x := range r.Examples {
			for _, t := range x.Things() {
				if to := s.Find(stack.Ref{Kind: t.Ref.Kind, Name: "a"}); to != nil {
					for name, f := range t.Facts {
						to.Facts[name] = f
					}
				}
			}
		}
	}
	link(s)
	n := len(base.Judge(s))
	for b.Loop() {
		base.Judge(s)
	}
	b.ReportMetric(float64(n), "verdicts")
}

// link links everything on the stack to everything it may link to.
func link(s *stack.Stack) {
	cat, _ := catalog.Load(knowledge.FS)
	for _, t := range s.Things {
		for name, l := range cat.Kinds[t.Ref.Kind].Links {
			if to := s.Find(stack.Ref{Kind: l.To, Name: "a"}); to != nil {
				t.Link(name, to.Ref)
			}
		}
	}
}

// BenchmarkLoad reads everything that is built in.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		cat, _ := catalog.Load(knowledge.FS)
		if base, _ := rule.Load(knowledge.FS, cat); base == nil {
			b.Fatal("no rules")
		}
	}
}
