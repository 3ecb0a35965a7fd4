package viewtest

import (
	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// The rules of the hand-made reports. Text and evidence are typed here; what
// real rules say of real hosts is tested with fixtures.
func TestRules() map[string]*rule.Rule {
	out := map[string]*rule.Rule{}
	for _, r := range []*rule.Rule{
		{ID: "mysql/sync-binlog", Harm: rule.Danger, Gain: rule.High, Basis: rule.Documented},
		{ID: "cross/zfs-recordsize-innodb", Harm: rule.Slow, Gain: rule.High, Basis: rule.Documented,
			Title: "{show(db.innodb_page_size)} pages are kept in {show(ds.recordsize)} records",
			For:   []rule.Binding{{Var: "db", Kind: "mysql"}, {Var: "ds", Kind: "dataset", From: "db", Links: []string{"data", "dataset"}}},
			When:  "ds.recordsize > 2 * db.innodb_page_size", Versions: "every OpenZFS release",
			Explain: "ZFS writes whole records.\nA page inside a larger record makes every flush a read.\n\n  zfs get recordsize\n\n- one point\n- another point\n",
			Sources: []string{"https://openzfs.github.io/openzfs-docs/"}, Seeds: []string{"zfs-setup-02"}},
		{ID: "kernel/swappiness", Harm: rule.Note, Gain: rule.Low, Basis: rule.Documented},
		{ID: "kernel/arc-limit", Harm: rule.Slow, Gain: rule.Low, Basis: rule.Documented},
	} {
		out[r.ID] = r
	}
	return out
}

// TestReport is a report with a finding of each harm, a conflict and a gap.
func TestReport(s *stack.Stack) check.Report {
	rules := TestRules()
	db := stack.Ref{Kind: "mysql", Name: "3306"}
	data, dlog := stack.Ref{Kind: "dataset", Name: "tank/db/data"}, stack.Ref{Kind: "dataset", Name: "tank/db/log"}
	host := stack.Ref{Kind: "host", Name: "db1"}
	fact := func(of stack.Ref, name string, o *stack.Origin) rule.Evidence {
		f := s.Find(of).Facts[name]
		f.Origin = o
		return rule.Evidence{Of: of, Name: name, Fact: f}
	}
	records := func(ds stack.Ref) rule.Evaluation {
		return rule.Evaluation{Rule: rules["cross/zfs-recordsize-innodb"], Outcome: rule.Fires, Things: []stack.Ref{db, ds},
			Title: "16K pages are kept in 128K records", Say: "Changing one page reads and rewrites eight.",
			Evidence: []rule.Evidence{fact(ds, "recordsize", &stack.Origin{From: stack.FromInherited, Of: "tank"}), fact(db, "innodb_page_size", nil)},
			Remedies: []rule.Remedy{{Knob: stack.Knob{Of: ds, Name: "recordsize"}, To: stack.Int(16384), Note: "copy the tables to finish"},
				{Do: "plumb rehearse measures it here"}}}
	}
	verdicts := []rule.Evaluation{
		{Rule: rules["kernel/swappiness"], Outcome: rule.Fires, Title: "vm.swappiness is 60", Say: "The kernel swaps early.",
			Evidence: []rule.Evidence{fact(host, "vm_swappiness", nil)},
			Remedies: []rule.Remedy{{Knob: stack.Knob{Of: host, Name: "vm_swappiness"}, To: stack.Int(1)}}},
		records(dlog), records(data),
		{Rule: rules["mysql/sync-binlog"], Outcome: rule.Fires, Things: []stack.Ref{db}, Title: "sync_binlog is 0",
			Say:      "After a crash the binary log can miss transactions that clients were told are committed; the replica then differs from this server.",
			Evidence: []rule.Evidence{fact(db, "sync_binlog", &stack.Origin{From: stack.FromFile, File: "/etc/mysql/my.cnf", Line: 12})},
			Remedies: []rule.Remedy{{Knob: stack.Knob{Of: db, Name: "sync_binlog"}, To: stack.Int(1), Note: "one more fsync per commit group"}}},
		{Rule: rules["kernel/arc-limit"], Outcome: rule.Unknown, Missing: []rule.Missing{{Of: stack.Ref{Kind: "zfs", Name: "module"}, Name: "zfs_arc_max",
			Why: "read /sys/module/zfs/parameters/zfs_arc_max: permission denied", Hint: "run as root"}}},
	}
	cat := Units()
	return check.Report{Stack: s, Catalog: cat, Plumb: "test", Judged: 143, Advice: advise.From(verdicts, s, cat, advise.Options{})}
}

// QuietReport is the report of a host with nothing out of line.
func QuietReport(s *stack.Stack) check.Report {
	return check.Report{Stack: s, Catalog: Units(), Judged: 143, Advice: advise.From(nil, s, Units(), advise.Options{})}
}
