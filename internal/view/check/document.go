package check

import (
	"cmp"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// Document gives the report of one host as JSON v1.
func Document(r check.Report) CheckJSON {
	d := CheckJSON{
		Plumb: page.JSONVersion, Kind: "check", Version: r.Plumb, TakenAt: r.Stack.TakenAt, Root: r.Stack.Root,
		Tape: r.From, Host: hostJSON(r.Stack), Servers: []ServerJSON{}, Summary: summaryJSON(r),
		Findings: []FindingJSON{}, Conflicts: []ConflictJSON{}, Unknown: []UnknownJSON{},
		Gaps: page.NotNil(r.Stack.Gaps), Plan: r.Advice.Plan,
	}
	for _, db := range picture.Servers(r.Stack) {
		d.Servers = append(d.Servers, serverJSON(r.Stack, db))
	}
	v := picture.Facts{Cat: r.Catalog}
	for _, f := range r.Advice.Findings {
		d.Findings = append(d.Findings, findingJSON(v, f))
	}
	for _, c := range r.Advice.Conflicts {
		d.Conflicts = append(d.Conflicts, ConflictJSON(c))
	}
	for _, u := range r.Advice.Unknown {
		d.Unknown = append(d.Unknown, UnknownJSON(u))
	}
	for _, f := range r.Advice.Foretold {
		d.CheckAgain = append(d.CheckAgain, CheckAgainJSON(f))
	}
	return d
}

func hostJSON(s *stack.Stack) HostJSON {
	h := s.Host()
	if h == nil {
		return HostJSON{}
	}
	j := HostJSON{Name: hostName(s), OS: h.Text("os"), Kernel: h.Text("kernel")}
	j.CPUs, _ = h.Int("cpus")
	j.MemoryBytes, _ = h.Int("memory_total")
	return j
}

func serverJSON(s *stack.Stack, db *stack.Thing) ServerJSON {
	return ServerJSON{Ref: db.Ref, Product: cmp.Or(db.Text("flavor"), db.Ref.Kind), Version: db.Text("version"),
		Roles: page.NotNil(picture.RoleOrder(s, db.Ref))}
}

func summaryJSON(r check.Report) SummaryJSON {
	return SummaryJSON{Findings: len(r.Advice.Findings), ByHarm: countHarms(r.Advice.Findings), RulesJudged: r.Judged,
		RulesUnknown: rulesUnknown(r), Facts: factsIn(r.Stack), Gaps: len(r.Stack.Gaps)}
}

func findingJSON(v picture.Facts, f advise.Finding) FindingJSON {
	j := FindingJSON{Number: f.Number, Rule: f.Rule.ID, Harm: f.Rule.Harm, Gain: string(f.Rule.Gain),
		Basis: string(f.Rule.Basis), Title: f.Cases[0].Title, Sources: f.Rule.Sources}
	for _, c := range f.Cases {
		k := CaseJSON{Things: page.NotNil(c.Things), Title: c.Title, Say: c.Say, Missing: c.Missing, Evidence: []EvidenceJSON{}, Remedies: []RemedyJSON{}}
		for _, e := range c.Evidence {
			k.Evidence = append(k.Evidence, EvidenceJSON{Of: e.Of, Fact: e.Name, Value: e.Fact.Value,
				Shown: v.Show(e.Of.Kind, e.Name, e.Fact.Value), Source: e.Fact.Source, Origin: e.Fact.Origin, Next: e.Fact.Next})
		}
		for _, a := range c.Also {
			k.Also = append(k.Also, AlsoJSON(a))
		}
		for _, r := range c.Remedies {
			m := RemedyJSON{Do: r.Do, Withheld: r.Withheld}
			if r.IsStep() {
				m.Step = &r.Step
			}
			k.Remedies = append(k.Remedies, m)
		}
		j.Cases = append(j.Cases, k)
	}
	return j
}
