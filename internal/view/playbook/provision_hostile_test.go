package playbook

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"plumb/internal/change"
	"plumb/internal/host/hosttest"
	"plumb/internal/host/mounts"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
	"plumb/internal/provision/spec"
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

// A script is run again, after a start of the machine too, and a pool may not be imported then: a disk is erased by plumb alone,
// which has a journal of what was made on it.
func TestScriptErasesNothing(t *testing.T) {
	for erase, left := range map[string]bool{"S1": true, "": false} {
		l := layOut(t)
		proof := (disk.Disk{Spec: spec.Disk{Path: "/dev/x", Erase: erase}, Serial: "S1", On: []string{"XFS"}, Digest: strings.Repeat("a", 64), Size: 1 << 30}).Proof()
		proof.Argv[2] = `: >"$0"`
		proof.Argv[3] = l.dir + "/erased" // there is no such disk
		l.p.Plan.Stages[0].Steps[0].Recipe.Acts = []change.Act{{Make: &change.Make{Thing: change.Thing{Name: "the pool tank", Inspect: &change.Inspection{File: l.dir + "/pool", Match: "^(.+)$"}},
			Do: []change.Op{proof, {Argv: []string{"sh", "-c", `echo {mark} >"$1"`, "sh", l.dir + "/pool"}}}}}}
		out, code := sh(t, l.shell(), "apply")
		_, err := os.Stat(l.dir + "/erased")
		if left != (code == 4 && strings.Contains(out, "not done here: volumes: it erases a disk")) || left == (err == nil) {
			t.Errorf("erase: %q: it ends with %d, %v:\n%s", erase, code, err, out)
		}
	}
}

// TestScriptKnowsWhatIsMounted: as plumb does, for all that is mounted here.
func TestScriptKnowsWhatIsMounted(t *testing.T) {
	live := hosttest.LiveDoer(t)
	all, err := mounts.Read(t.Context(), live)
	must(t, err)
	looked := 0
	for _, m := range all {
		want, err := mounts.Identity(t.Context(), live, m.Mountpoint)
		if err != nil || strings.ContainsAny(m.Source, " \\") { // of a device that cannot be read here
			continue
		}
		look, err := looking(change.Inspection{Mounted: m.Mountpoint})
		must(t, err)
		if out, code := sh(t, "set -eu\n"+library+look); code != 0 || strings.TrimSpace(out) != want {
			t.Errorf("at %s is %q, and the script says %q, %d", m.Mountpoint, want, out, code)
		}
		if looked++; looked == 25 {
			break
		}
	}
	look, err := looking(change.Inspection{Mounted: t.TempDir()})
	must(t, err)
	if out, code := sh(t, "set -eu\n"+library+look); looked == 0 || code != 0 || strings.TrimSpace(out) != "" {
		t.Errorf("where nothing is mounted it says %q, %d; %d were looked at", out, code, looked)
	}
}
