package view

import (
	"strings"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/check"
)

func TestCheckText(t *testing.T) {
	r := testReport(zfsHost())
	golden(t, "check.txt", Check(r, CheckOptions{}, Screen{Width: 100}))
	golden(t, "check-80.txt", Check(r, CheckOptions{}, Screen{Width: 80}))
	golden(t, "check-all.txt", Check(r, CheckOptions{All: true}, Screen{Width: 80}))
	golden(t, "check-colour.txt", Check(r, CheckOptions{}, Screen{Width: 80, Colour: true}))
}

func TestHealthyHostIsThreeLines(t *testing.T) {
	s := lvmHost()
	got := Check(check.Report{Stack: s, Catalog: units(), Judged: 143}, CheckOptions{}, Screen{Width: 100})
	golden(t, "check-healthy.txt", got)
	if n := strings.Count(got, "\n"); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
}

func TestEmit(t *testing.T) {
	var all strings.Builder
	r := testReport(zfsHost())
	for _, target := range EmitTargets() {
		text, err := Emit(target, r.Advice.Plan, r.Catalog)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("== " + target + "\n" + text)
	}
	golden(t, "emit.txt", all.String())
}

func TestSummary(t *testing.T) {
	var s Summary
	s.Add("db1.tape", testReport(zfsHost()))
	s.Add("pg1.tape", check.Report{Stack: lvmHost(), Judged: 143, Advice: advise.Advice{}})
	golden(t, "summary.txt", s.Text(false, Screen{Width: 80}))
}

func TestNothingFromTheHostDrivesTheTerminal(t *testing.T) {
	s := zfsHost()
	set(s.Host(), "hostname", "db1\x1b[2J\u202e")
	for _, text := range []string{Check(testReport(s), CheckOptions{}, Screen{}), Stack(s, units(), nil, Screen{})} {
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
		if got := shortWhy(why); got != want {
			t.Errorf("%q became %q, want %q", why, got, want)
		}
	}
}
