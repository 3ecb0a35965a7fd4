package view

import (
	"math"
	"strings"
	"testing"
	"time"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/rule"
	"plumb/internal/stats"
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

func TestExplainRule(t *testing.T) {
	r := testRules()["cross/zfs-recordsize-innodb"]
	golden(t, "explain.txt", Rule(r, Proof{}, Screen{Width: 80}))
	golden(t, "explain-proof.txt", Rule(r, testProof(), Screen{Width: 80}))
}

// testProof is of an experiment and of rehearsals of every kind.
func testProof() Proof {
	day := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	return Proof{Ledger: "plumb-lab", Note: "One more could not be read.",
		Measured: []rule.Measurement{{Experiment: "recordsize", Date: day, Machine: "2 processors, Linux 6.18", Setup: "MariaDB 10.11 on zfs-fuse", Ledger: "4f1d2c90aa77",
			Shows: "With 16K records the device wrote 52.1 KB for each update (51.3 to 52.8), with 128K 143.6 KB (140.7 to 146.4).", Changed: "the trials were shorter", Doubt: "The rates are those of zfs-fuse."}},
		Rehearsed: []Rehearsed{{At: day, Arm: "recordsize 16K", Effect: stats.Estimate{Value: 0.12, Low: 0.08, High: 0.16, N: 5}, Word: "better", Hash: "0123456789abcdef0123"},
			{At: day, Arm: "all advice", Effect: stats.Estimate{Value: 0.12, Low: math.Inf(-1), High: math.Inf(1), N: 1}, Word: "undecided", Hash: "01"}, {At: day, Arm: "recordsize 8K", Word: "undecided", Hash: "0123"}}}
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
