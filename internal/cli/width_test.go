package cli

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"plumb/internal/cli/shell"
	"plumb/internal/coverage"
	"plumb/internal/explain"
	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
	explainview "plumb/internal/view/explain"
	"plumb/internal/view/page"
	"plumb/knowledge"
)

// TestRealOutputFitsTheScreen draws every captured host.
func TestRealOutputFitsTheScreen(t *testing.T) {
	tapes := capturedHosts(t)
	for i, w := range []int{80, 120, 60, 100} {
		t.Setenv("COLUMNS", strconv.Itoa(w))
		runsWithin(t, w, "rules")
		runsWithin(t, w, "rules", "--untested")
		for j, tape := range tapes {
			if j%4 != i { // each host at one width: names differ more than widths do
				continue
			}
			runsWithin(t, w, "check", "--all", "--tape", tape)
			runsWithin(t, w, "check", "--tape", tape)
			runsWithin(t, w, "stack", "--tape", tape)
		}
	}
}

func TestEveryPageOfExplainFitsTheScreen(t *testing.T) {
	cat := hosttest.Catalog(t)
	rules, err := rule.Load(knowledge.FS, cat)
	must(t, err)
	measured, err := rule.Measurements(knowledge.FS)
	must(t, err)
	records, err := coverage.Read(knowledge.FS)
	must(t, err)
	standings := records.Standings(rules.Rules())
	for _, w := range []int{60, 80} {
		for i, r := range rules.Rules() {
			within(t, w, r.ID, explainview.Rule(r, explain.Proof{Measured: rule.About(measured, r.ID), Standing: &standings[i]}, page.Screen{Width: w}))
		}
		for _, k := range cat.Kinds {
			for _, f := range k.Facts {
				within(t, w, f.Name, explainview.Fact(f, k, nil, page.Screen{Width: w}))
			}
		}
	}
}

func runsWithin(t *testing.T, w int, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errs); code != shell.ExitOK {
		t.Errorf("plumb %s: exit %d: %s", strings.Join(args, " "), code, errs.String())
	}
	within(t, w, strings.Join(args, " "), out.String())
}

func within(t *testing.T, w int, what, text string) {
	t.Helper()
	for l := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > w && !strings.Contains(l, "://") { // addresses are never cut
			t.Errorf("%s at %d columns has a line of %d: %s", what, w, n, l)
		}
	}
}
