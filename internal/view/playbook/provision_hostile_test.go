package playbook

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"plumb/internal/change"
	"plumb/internal/provision"
	"plumb/internal/stack"
)

// TestNamesAreData: what a host calls its servers and directories is no command of a script and no line of a playbook.
func TestNamesAreData(t *testing.T) {
	l := layOut(t)
	evil := "x'\"\n: >" + l.dir + "/pwned\n$(: >" + l.dir + "/pwned)`: >" + l.dir + "/pwned`\u2028: >" + l.dir + "/pwned\r\x1b[2J{{ 7 * 7 }} # \\"
	find := change.Inspection{Argv: []string{"find", l.dir, "-name", evil, "-printf", "there"}}
	step := provision.Step(stack.Ref{Kind: "mysql", Name: evil}, evil, []change.Act{{Switch: &change.Switch{On: evil, Inspect: find, After: "there", Do: []change.Op{{Argv: []string{"sh", "-c", `: >"$1"`, "sh", l.dir + "/made"}}}}}})
	l.p = Provisioning{Host: evil, Plan: provision.Plan{Stages: []provision.Stage{
		{Name: evil, Why: evil, Notes: []string{evil}, Lasting: []string{evil}, Steps: []change.Prepared{step}},
		{Name: evil, Steps: []change.Prepared{provision.Step(stack.Ref{Kind: "mysql", Name: evil}, evil, []change.Act{{Copy: &change.Copy{From: evil, To: evil}}})}},
	}}}
	out, code := sh(t, l.shell(), "show")
	if code != 4 || strings.Count(out, "would change: ") != 1 {
		t.Errorf("it ends with %d:\n%s", code, out)
	}
	if _, said, _ := strings.Cut(out, "would change: "); !strings.HasPrefix(said, "x'\" : >") || strings.Contains(strings.SplitN(said, "\n", 2)[0], "\x1b") {
		t.Errorf("it says %q", said)
	}
	text, err := l.p.Ansible()
	must(t, err)
	var plays []struct {
		Hosts string
		Vars  map[string]string
		Tasks []task
	}
	must(t, yaml.Unmarshal([]byte(text), &plays))
	if len(plays) != 1 || len(plays[0].Tasks) != 2 {
		t.Fatalf("it is %d plays:\n%s", len(plays), text)
	}
	sh(t, "PLUMB_DRY=1\n"+filled(t, plays[0].Tasks[0].Shell.Cmd, plays[0].Vars))
	if _, err := os.Stat(l.dir + "/pwned"); err == nil {
		t.Errorf("a name was run:\n%s\n%s", l.shell(), text)
	}
}
