package check

import (
	"strings"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
	stackview "plumb/internal/view/stack"
	"plumb/internal/view/viewtest"
)

func TestCheckText(t *testing.T) {
	r := viewtest.TestReport(viewtest.ZfsHost())
	viewtest.Golden(t, "check.txt", Text(r, Options{}, page.Screen{Width: 100}))
	viewtest.Golden(t, "check-80.txt", Text(r, Options{}, page.Screen{Width: 80}))
	viewtest.Golden(t, "check-all.txt", Text(r, Options{All: true}, page.Screen{Width: 80}))
	viewtest.Golden(t, "check-colour.txt", Text(r, Options{}, page.Screen{Width: 80, Colour: true}))
}

func TestHealthyHostIsThreeLines(t *testing.T) {
	s := viewtest.LvmHost()
	got := Text(check.Report{Stack: s, Catalog: viewtest.Units(), Judged: 143}, Options{}, page.Screen{Width: 100})
	viewtest.Golden(t, "check-healthy.txt", got)
	if n := strings.Count(got, "\n"); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
}

func TestEmit(t *testing.T) {
	var all strings.Builder
	r := viewtest.TestReport(viewtest.ZfsHost())
	for _, target := range EmitTargets() {
		text, err := Emit(target, r.Advice.Plan, r.Catalog)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("== " + target + "\n" + text)
	}
	viewtest.Golden(t, "emit.txt", all.String())
}

func TestSummary(t *testing.T) {
	var s Summary
	s.Add("db1.tape", viewtest.TestReport(viewtest.ZfsHost()))
	s.Add("pg1.tape", check.Report{Stack: viewtest.LvmHost(), Judged: 143, Advice: advise.Advice{}})
	viewtest.Golden(t, "summary.txt", s.Text(false, page.Screen{Width: 80}))
}

func TestNothingFromTheHostDrivesTheTerminal(t *testing.T) {
	s := viewtest.ZfsHost()
	viewtest.Set(s.Host(), "hostname", "db1\x1b[2J\u202e")
	for _, text := range []string{Text(viewtest.TestReport(s), Options{}, page.Screen{}), stackview.Text(s, viewtest.Units(), nil, page.Screen{})} {
		if strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("a control character came through: %q", text)
		}
	}
}

func TestLongReasonsKeepTheirCause(t *testing.T) {
	for why, want := range map[string]string{
		"read /proc/1/exe: permission denied": "permission denied",
		"no time service answered; run timedatectl show: exit status 1: System has not been booted with systemd as init system":               "no time service answered",
		"query mysql:/tmp/a-very-long-directory/of-a-server/run/mysqld.sock: log in: Error 1698: Access denied for user 'nobody'@'localhost'": "log in: Error 1698: Access denied for user 'nobody'@'localhost'",
		"short": "short",
	} {
		if got := picture.ShortWhy(why); got != want {
			t.Errorf("%q became %q, want %q", why, got, want)
		}
	}
}
