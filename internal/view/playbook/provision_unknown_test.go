package playbook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"plumb/internal/change"
	"plumb/internal/host"
)

// TestUnreadableIsUnknown: who only shows is not told of what cannot be read that it would be changed.
func TestUnreadableIsUnknown(t *testing.T) {
	for thing, spoil := range map[string]func(l *laid, text func() string) string{
		"swappiness": func(l *laid, text func() string) string { defer l.directory("swap"); return text() },
		"my.cnf":     func(l *laid, text func() string) string { defer l.directory("my.cnf"); return text() },
		"packages": func(l *laid, text func() string) string {
			l.p.Plan.Stages[0].Steps[0].Recipe.Acts[2].Switch.Inspect.Argv[0] = "no-such-command"
			return text()
		},
		"tank/db": func(l *laid, text func() string) string { return l.zfs(text, "The ZFS modules are not loaded.") },
	} {
		t.Run(thing, func(t *testing.T) {
			l := layOut(t)
			out, code := sh(t, spoil(l, l.shell), "show")
			name := strings.Replace(thing, "my.cnf", l.dir+"/my.cnf", 1)
			if code != 3 || !strings.Contains(out, "unknown: "+name+", which cannot be read\n") || strings.Contains(out, "would change: "+name+"\n") {
				t.Errorf("it ends with %d:\n%s", code, out)
			}
			if !strings.Contains(out, "would change: "+l.dir+"/data dir\n") {
				t.Errorf("of the rest it says nothing:\n%s", out)
			}
		})
	}
	l := layOut(t)
	if out, code := sh(t, l.zfs(l.shell, "cannot open 'tank/db': dataset does not exist"), "show"); code != 0 || !strings.Contains(out, "would change: tank/db\n") {
		t.Errorf("of a dataset that is not there it ends with %d:\n%s", code, out)
	}
}

// directory puts a directory in the place of a file: root too cannot read it as one.
func (l *laid) directory(name string) {
	l.t.Helper()
	must(l.t, os.Remove(filepath.Join(l.dir, name)))
	must(l.t, os.Mkdir(filepath.Join(l.dir, name), 0o755))
}

// zfs gives the script of a plan with a dataset, for a host on which zfs fails and says something.
func (l *laid) zfs(text func() string, says string) string {
	acts := l.p.Plan.Stages[0].Steps[0].Recipe.Acts
	acts[2] = change.Act{Make: &change.Make{Thing: change.Thing{Dataset: "tank/db"}, Do: []change.Op{{Argv: []string{"zfs", "create", "tank/db"}}}}}
	return strings.Replace(text(), "\ncase ${1:-} in\n", "\nzfs() { echo "+host.ShellQuoted(says)+" >&2; return 1; }\ncase ${1:-} in\n", 1)
}

// TestTaskFailsOverWhatIsUnknown: a task that would only show, and cannot read, is not one with nothing to do.
func TestTaskFailsOverWhatIsUnknown(t *testing.T) {
	l := layOut(t)
	text, err := l.p.Ansible()
	must(t, err)
	l.directory("swap")
	var plays []struct {
		Vars  map[string]string
		Tasks []task
	}
	must(t, yaml.Unmarshal([]byte(text), &plays))
	var said []string
	for _, k := range plays[0].Tasks {
		if out, code := sh(t, "PLUMB_DRY=1\n"+filled(t, k.Shell.Cmd, plays[0].Vars)); code != 0 {
			said = append(said, fmt.Sprintf("%d %s", code, out))
		}
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "3 ") || !strings.Contains(said[0], "unknown: swappiness") {
		t.Errorf("of tasks these fail: %q", said)
	}
}
