package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/program"
)

// file writes an experiment made from the tiny one.
func (l lab) file(replace ...string) string {
	l.t.Helper()
	text, err := os.ReadFile("testdata/tiny.yaml")
	must(l.t, err)
	name := filepath.Join(l.dir, "x.yaml")
	must(l.t, os.WriteFile(name, []byte(strings.NewReplacer(replace...).Replace(string(text))), 0o644))
	return name
}

func TestBadInput(t *testing.T) {
	needServer(t, postgres)
	for name, c := range map[string]struct {
		replace []string
		code    int
		says    string
	}{
		"unknown word":       {[]string{"kind: directory", "kind: directry"}, 2, `x\.yaml:5.*directry`},
		"no such script":     {[]string{"oltp_update_index", "oltp_update_everything"}, 2, `oltp_update_everything`},
		"missing version":    {[]string{"engine: postgres", `engine: postgres, version: "9.1"`}, 3, `9\.1`},
		"missing basedir":    {[]string{"engine: postgres", "engine: postgres, basedir: /nowhere"}, 3, `/nowhere`},
		"out of the box":     {[]string{"shared_buffers: 64MB", "data_directory: /var/lib/postgresql"}, 2, `data_directory`},
		"disk too small":     {[]string{"kind: directory", "kind: loop, filesystem: ext4, size: 900T"}, 3, `900T|free`},
		"no such filesystem": {[]string{"kind: directory", "kind: loop, filesystem: reiser4, size: 1G"}, 2, `reiser4`},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			out, errs := plumb.Run(t, c.code, l.args(l.file(c.replace...))...)
			program.Reads(t, errs, c.says, "^hint: ")
			if out != "" {
				t.Errorf("printed %q", out)
			}
			l.nothingLeft()
		})
	}
}

// Without root there are directories alone, and what that costs is said.
func TestOrdinaryUser(t *testing.T) {
	needServer(t, postgres)
	if os.Getuid() == 0 {
		if _, err := exec.LookPath("setpriv"); err != nil {
			t.Skip("setpriv is not installed")
		}
	}
	l := newLab(t)
	must(t, os.Chmod(l.dir, 0o777))
	run := func(file string) (string, error) {
		argv := append([]string{plumb.Path}, l.args(file)...)
		if os.Getuid() == 0 {
			argv = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, argv...)
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run(l.file("kind: directory", "kind: loop, filesystem: ext4, size: 1G"))
	if err == nil {
		t.Errorf("a loop device was made without root:\n%s", out)
	}
	program.Reads(t, out, "root")
	if out, err = run(l.file("least: 2, most: 2", "least: 1, most: 1")); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	l.nothingLeft()
}
