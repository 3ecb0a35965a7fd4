package playbook

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScriptIsKilledAnywhere kills the script before each of its commands: the next run does what is left, whichever that is.
func TestScriptIsKilledAnywhere(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash, which tells of each command before it runs it")
	}
	stride := 1
	if os.Getenv("PLUMB_REAL") == "" {
		stride = 31 // of some hundred commands
	}
	want := once(layOut(t).byActs())
	killed := 0
	for at := 1; ; at += stride {
		l := layOut(t)
		text := l.shell()
		file := filepath.Join(t.TempDir(), "killed.sh")
		must(t, os.WriteFile(file, []byte(fmt.Sprintf("set -T; n=0; trap 'n=$((n + 1)); [ $n != %d ] || kill -KILL $$' DEBUG\n%s", at, text)), 0o600))
		c := exec.Command(bash, "--posix", file, "apply")
		c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		if said, err := c.CombinedOutput(); err == nil {
			break
		} else if c.ProcessState.Exited() {
			t.Fatalf("before command %d it was not killed, and ends with %v:\n%s", at, err, said)
		}
		killed++
		if out, code := sh(t, text, "apply"); code != 0 || once(l.facts()) != want {
			t.Errorf("killed before command %d, the next run ends with %d and makes\n%s\nand the acts\n%s\n%s", at, code, l.facts(), want, out)
		}
		if out, code := sh(t, text, "apply"); code != 0 || out != "" {
			t.Errorf("killed before command %d, the run after the next ends with %d and says\n%s", at, code, out)
		}
	}
	if killed < 10 {
		t.Errorf("it was killed %d times", killed)
	}
}

// once leaves of what is done once more after a death, as a restart is, no more than what is done once.
func once(facts string) string {
	for _, what := range []string{"it's done\\n", "it's read\\n"} {
		for twice := what + what; strings.Contains(facts, twice); {
			facts = strings.ReplaceAll(facts, twice, what)
		}
	}
	return facts
}
