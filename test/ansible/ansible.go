// Package ansible plays the playbooks that Plumb writes, with the real ansible-playbook.
package ansible

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"plumb/test/sandbox"
)

// Playbook is a file that can be played on this host, without a connection to another.
type Playbook struct {
	t       testing.TB
	program string
	dir     string
}

// New writes a playbook to a file and has Ansible parse it. It skips a test where Ansible is not installed.
func New(t testing.TB, text string) Playbook {
	t.Helper()
	program, err := exec.LookPath("ansible-playbook")
	if err != nil {
		t.Skip("needs ansible-playbook: apt-get install ansible-core, as make test-real does")
	}
	p := Playbook{t, program, t.TempDir()}
	for name, text := range map[string]string{"play.yml": text, "ansible.cfg": ""} {
		sandbox.Need(t, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
	}
	if out, code := p.Play("--syntax-check"); code != 0 {
		t.Fatalf("Ansible does not take it (%d):\n%s", code, out)
	}
	return p
}

// Play plays it, and gives what Ansible says and its exit code: 0, or 2 when a task failed. What is installed of collections, and
// what a person has configured, is not used: a playbook has to do without.
func (p Playbook) Play(more ...string) (out string, code int) {
	p.t.Helper()
	c := exec.Command(p.program, append([]string{"-i", "localhost,", "-c", "local", "-e", "target=localhost", "-e", "ansible_python_interpreter={{ ansible_playbook_python }}", filepath.Join(p.dir, "play.yml")}, more...)...)
	at := func(name string) string { return filepath.Join(p.dir, name) }
	c.Env = append(os.Environ(), "ANSIBLE_CONFIG="+at("ansible.cfg"), "ANSIBLE_HOME="+at("home"), "ANSIBLE_LOCAL_TEMP="+at("local"), "ANSIBLE_REMOTE_TEMP="+at("remote"),
		"ANSIBLE_COLLECTIONS_PATHS="+at("none"), "ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8")
	said, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return string(said), c.ProcessState.ExitCode()
}

var recap = regexp.MustCompile(`(?m)^localhost +: .*\bchanged=([0-9]+) `)

// Changed is how many tasks changed something, or would, as Ansible counts them at the end; "" where it did not get that far.
func Changed(out string) string {
	if m := recap.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}
