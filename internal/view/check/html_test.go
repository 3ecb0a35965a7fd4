package check

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/internal/view/viewtest"
)

func webPage(t *testing.T, r check.Report) string {
	t.Helper()
	b, err := HTML(r, PageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	viewtest.AloneAndWhole(t, b)
	return string(b)
}

// shown is what a reader of a page sees, on one line.
func shown(page string) string {
	_, body, _ := strings.Cut(page, "<body>")
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

func TestPageTellsAllThatTheReportHas(t *testing.T) {
	s := viewtest.ZfsHost()
	viewtest.Set(s.Host(), "hostname", "db1.example")
	r := viewtest.TestReport(s)
	r.From = "tapes/db1.tape"
	r.Advice.Foretold = []advise.Foretold{{Server: stack.Ref{Kind: "mysql", Name: "3306"}, Restart: true, About: []string{"flushing", "redo"}, Rules: []string{"mysql/redo-too-small"}}}
	text := shown(webPage(t, r))
	for _, want := range []string{
		"db1.example", "read on 20 November 2026 at 12:00 UTC", "as root", "Made by Plumb test", "143 rules judged", "from the tape db1.tape",
		"mysql:3306 MariaDB 11.8.6", "data, undo /var/lib/mysql", "tank/db/data", "mirror", "nvme1n1", "not placed: stat /mnt/gone",
		"Not used by a database seen here", "sda",
		"DANGER: data can be lost or damaged", "1 sync_binlog is 0 mysql/sync-binlog", "SLOW", "also on tank/db/log", "NOTE",
		"sync_binlog = 0 mysql:3306 /etc/mysql/my.cnf:12 test",          // value, thing, origin, where it was read
		"recordsize = 128K tank/db/data inherited from tank test",       // of a dataset
		"zfs set recordsize=16K tank/db/log", "plumb rehearse measures", // remedies, also of the second place
		"https://openzfs.github.io/openzfs-docs/", "A page inside a larger record", "zfs get recordsize", "one point",
		"1 sync_binlog of mysql:3306: 0 → 1", "mysql/sync-binlog", "set sync_binlog = 0", "Not in the plan",
		"Next: check again under load, after following this advice", "a restart sets its counters back", "flushing and redo.", "mysql/redo-too-small",
		"zfs_arc_max of ZFS", "permission denied", "What helps: run as root", "kernel/arc-limit",
		"temporary of mysql:3306 stat /mnt/gone: no such file or directory",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestPageOfAHealthyHost(t *testing.T) {
	text := shown(webPage(t, viewtest.QuietReport(viewtest.LvmHost())))
	for _, want := range []string{"Nothing is out of line.", "0 danger", "postgres:5432 PostgreSQL 17.2", "vg-pg", "md0", "Nothing: all that was looked for was seen."} {
		if !strings.Contains(strings.ReplaceAll(text, "dm-0", "vg-pg"), want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	for _, no := range []string{"Findings", "Plan", "Next:"} {
		if strings.Contains(text, no) {
			t.Errorf("the page of a healthy host has %q", no)
		}
	}
	empty := shown(webPage(t, check.Report{Stack: &stack.Stack{}, Catalog: viewtest.Units()}))
	for _, want := range []string{"No database server was found", "when it was read is not known", "without root's rights"} {
		if !strings.Contains(empty, want) {
			t.Errorf("the page of nothing does not say %q: %s", want, empty)
		}
	}
}

// hostileReport comes from a tape that wants to get at the reader.
func hostileReport() check.Report {
	const bad = viewtest.HostileText + "\x1b[2J\u202e"
	s := viewtest.ZfsHost()
	r := viewtest.TestReport(s)
	for _, thing := range s.Things {
		for name, f := range thing.Facts {
			if _, is := f.Value.Text(); is {
				f.Value = stack.Text(bad)
			}
			f.Source, f.Origin, f.Next = bad, &stack.Origin{From: bad, Of: bad, File: bad}, &stack.Next{Value: stack.Text(bad)}
			thing.Facts[name] = f
		}
	}
	for i := range s.Roles {
		s.Roles[i].Name, s.Roles[i].Path, s.Roles[i].Resolved = bad, bad, bad
	}
	for i := range s.Gaps {
		s.Gaps[i].Why, s.Gaps[i].Hint, s.Gaps[i].Facts = bad, bad+"`"+bad+"`", []string{bad}
	}
	r.Plumb, r.From = bad, bad
	for i := range r.Advice.Findings {
		f := &r.Advice.Findings[i]
		own := *f.Rule
		own.ID, own.Explain, own.Versions, own.Sources, own.Quote, own.Basis = bad, bad+"\n\n  "+bad+"\n\n- "+bad, bad, []string{bad, "javascript:alert(1)"}, rule.Quote{Says: bad, From: bad}, bad
		f.Rule = &own
		for j := range f.Cases {
			c := &f.Cases[j]
			c.Title, c.Say, c.Also = bad, bad+"`"+bad+"`", []advise.Also{{Rule: bad, Title: bad}}
			for k := range c.Evidence {
				c.Evidence[k].Fact = rule.Evidence{Fact: stack.Fact{Value: stack.Text(bad), Source: bad, Origin: &stack.Origin{From: bad}, Next: &stack.Next{Value: stack.Text(bad)}}}.Fact
			}
			c.Remedies = append(c.Remedies, advise.Remedy{Do: bad}, advise.Remedy{Step: advise.Step{Knob: stack.Knob{Of: stack.Ref{Kind: bad, Name: bad}, Name: bad}, To: stack.Text(bad)}, Withheld: bad})
		}
	}
	for i := range r.Advice.Plan.Steps {
		st := &r.Advice.Plan.Steps[i]
		st.Because, st.Why, st.Note, st.From, st.To, st.DurabilityFrom, st.Effect = bad, []string{bad}, bad, stack.Text(bad), stack.Text(bad), bad, catalog.Effect(bad)
	}
	r.Advice.Unknown = []advise.Unknown{{Why: bad, Hint: bad, Needs: []string{bad, "mysql:" + bad + "#" + bad}, Rules: []string{bad}}}
	r.Advice.Conflicts = []advise.Conflict{{Knob: stack.Knob{Of: stack.Ref{Kind: bad, Name: bad}, Name: bad}, Kept: stack.Text(bad), Lost: stack.Text(bad), For: []string{bad}, Reason: bad}}
	r.Advice.Foretold = []advise.Foretold{{Server: stack.Ref{Kind: bad, Name: bad}, About: []string{bad}, Rules: []string{bad}}}
	return r
}

// TestRulesBeyondTheMostFrequentAreCounted: one of them is a rule, several are rules.
func TestRulesBeyondTheMostFrequentAreCounted(t *testing.T) {
	for n, want := range map[int]string{maxFrequent + 1: "<summary>1 other rule</summary>", maxFrequent + 2: "<summary>2 other rules</summary>"} {
		r := check.Report{Stack: &stack.Stack{}, Catalog: &catalog.Catalog{}}
		for i := range n {
			r.Advice.Findings = append(r.Advice.Findings, advise.Finding{Rule: &rule.Rule{ID: fmt.Sprintf("a/%02d", i), Harm: rule.Slow}, Cases: []advise.Case{{Title: "it is slow"}}})
		}
		var sum Summary
		if err := sum.AddPage("one", r, PageOptions{}); err != nil {
			t.Fatal(err)
		}
		if page, err := sum.HTML("tapes"); err != nil || !strings.Contains(string(page), want) {
			t.Errorf("the page of %d rules has no %s, %v", n, want, err)
		}
	}
}

func TestPageEscapesWhatItShows(t *testing.T) {
	var sum Summary
	if err := sum.AddPage(viewtest.HostileText, hostileReport(), PageOptions{}); err != nil {
		t.Fatal(err)
	}
	sum.Fail(viewtest.HostileText, errors.New(viewtest.HostileText))
	many, err := sum.HTML(viewtest.HostileText)
	if err != nil {
		t.Fatal(err)
	}
	viewtest.AloneAndWhole(t, many)
	for name, page := range map[string]string{"one": webPage(t, hostileReport()), "many": string(many)} {
		for _, bad := range []string{"<script", "<img", `" onload`, "\x1b", "\u202e", "href=\"javascript"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s: the page has %q", name, bad)
			}
		}
		if n := strings.Count(page, "alert(1)"); n < 60 {
			t.Errorf("%s: the texts are shown %d times only", name, n)
		}
		if strings.Count(page, "</style>") != 1 {
			t.Errorf("%s: something ends the style", name)
		}
	}
}

func TestPageOfManyHosts(t *testing.T) {
	var sum Summary
	for _, h := range []struct {
		name string
		r    check.Report
	}{{"pg1.tape", viewtest.QuietReport(viewtest.LvmHost())}, {"a/db1.tape.gz", viewtest.TestReport(viewtest.ZfsHost())}} {
		if err := sum.AddPage(h.name, h.r, PageOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	sum.Fail("broken.tape", errors.New("not a Plumb tape"))
	b, err := sum.HTML("test")
	if err != nil {
		t.Fatal(err)
	}
	viewtest.AloneAndWhole(t, b)
	page, text := string(b), shown(string(b))
	for _, want := range []string{"Check of 2 hosts", "2 hosts judged by up to 143 rules. 1 could not be read.", "broken.tape not a Plumb tape",
		"a/db1 1 0 1 1 1 sync_binlog is 0", "1 danger mysql/sync-binlog", "a/db1 1 danger 1 slow 1 note", "Nothing is out of line."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if n := strings.Count(page, fmt.Sprintf("id=%q", m[1])); n != 1 {
			t.Errorf("a link to %s leads to %d places", m[1], n)
		}
	}
	if strings.Index(page, "a/db1") > strings.Index(page, "pg1") {
		t.Error("the worst host does not come first")
	}
}

func TestPageWithoutRoomKeepsTheLine(t *testing.T) {
	sum := Summary{pages: maxPages}
	if err := sum.AddPage("db1.tape", viewtest.TestReport(viewtest.ZfsHost()), PageOptions{}); err != nil {
		t.Fatal(err)
	}
	b, err := sum.HTML("test")
	if err != nil {
		t.Fatal(err)
	}
	if text := shown(string(b)); !strings.Contains(text, "db1 1 0 1 1") || !strings.Contains(text, "Of 1 hosts the report found no room") || strings.Contains(string(b), "<a ") {
		t.Errorf("what the page of a host without room says: %s", text)
	}
}

func TestStepsSayTheWayBack(t *testing.T) {
	s := viewtest.ZfsHost()
	ds, db := stack.Ref{Kind: "dataset", Name: "tank/db/data"}, stack.Ref{Kind: "mysql", Name: "3306"}
	for _, x := range []struct {
		of     stack.Ref
		fact   string
		from   any
		origin stack.Origin
		effect catalog.Effect
		want   string
	}{
		{ds, "recordsize", 131072, stack.Origin{From: stack.FromLocal}, catalog.NewWrites, "zfs set recordsize=128K tank/db/data"},
		{ds, "recordsize", 131072, stack.Origin{From: stack.FromInherited, Of: "tank"}, catalog.NewWrites, "zfs inherit recordsize tank/db/data"},
		{ds, "recordsize", 131072, stack.Origin{From: stack.FromDefault}, catalog.NewWrites, "zfs inherit recordsize tank/db/data"},
		{ds, "recordsize", 131072, stack.Origin{From: stack.FromReceived}, catalog.NewWrites, "zfs inherit -S recordsize tank/db/data"},
		{ds, "casesensitivity", "mixed", stack.Origin{From: stack.FromLocal}, catalog.Recreate, "it is fixed when it is created: keep the old one until the new one has proven itself"},
		{db, "sync_binlog", 0, stack.Origin{From: stack.FromFile, File: "/etc/my.cnf", Line: 3}, catalog.Now, "set sync_binlog = 0 again where it came from (/etc/my.cnf:3)"},
		{db, "innodb_doublewrite", "OFF", stack.Origin{From: stack.FromCommand}, catalog.Restart, "set innodb_doublewrite = OFF again where it came from (command line), and restart"},
		{db, "innodb_page_size", 16384, stack.Origin{From: stack.FromDefault}, catalog.Restart, "take the setting out again, and restart: 16K is the default value"},
		{db, "sync_binlog", 0, stack.Origin{From: stack.FromRuntime}, catalog.Now, "set sync_binlog = 0"},
		{db, "gone", nil, stack.Origin{}, catalog.Now, "what is in force is not known: note it first"},
	} {
		thing, step := s.Find(x.of), advise.Step{Knob: stack.Knob{Of: x.of, Name: x.fact}, To: stack.Int(1), Effect: x.effect}
		if x.from != nil {
			viewtest.Set(thing, x.fact, x.from)
			f := thing.Facts[x.fact]
			f.Origin = &x.origin
			thing.Facts[x.fact], step.From = f, f.Value
		}
		r := viewtest.QuietReport(s)
		r.Advice.Plan.Steps = []advise.Step{step}
		if got := reportPage(r, PageOptions{}, "").Steps[0].Back; strings.ReplaceAll(got, "\u00a0", " ") != x.want {
			t.Errorf("%s from %s: the way back is %q, want %q", x.fact, x.origin.From, got, x.want)
		}
	}
}

func TestBackticksBecomeCode(t *testing.T) {
	for in, want := range map[string]string{"run `a b`, then": "run <a b>, then", "`a`": "<a>", "a ` b": "a ` b", "": "", "``": ""} {
		got := ""
		for _, p := range ticks(in) {
			got += p.Text
			if p.Code != "" {
				got += "<" + p.Code + ">"
			}
		}
		if got != want {
			t.Errorf("%q became %q", in, got)
		}
	}
}
