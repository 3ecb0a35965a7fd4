package backup

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"filippo.io/age"
)

var highWater = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// TestResident holds a backup of what does not pack to the memory that is promised.
func TestResident(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 200 MB into a directory, twice: run without -short")
	}
	k, err := age.GenerateX25519Identity()
	must(t, err)
	for _, c := range []struct {
		more []string
		most int // MiB
	}{{nil, 320}, {[]string{"--low"}, 96}} {
		cmd := exec.Command(built.Path, append([]string{"backup", "--command", "head -c 200000000 /dev/urandom", "--to", "file://" + t.TempDir(), "--state", t.TempDir(), "--recipient", k.Recipient().String()}, c.more...)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		most, running := 0, true
		for running {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
			if m := highWater.FindSubmatch(text); m != nil {
				most, err = strconv.Atoi(string(m[1]))
				must(t, err)
			}
			select {
			case err := <-ended:
				if running = false; err != nil {
					t.Fatalf("%v\n%s", err, &out)
				}
			case <-time.After(10 * time.Millisecond):
			}
		}
		if t.Logf("%v: %d MiB", c.more, most>>10); most == 0 || most>>10 > c.most {
			t.Errorf("%v: %d MiB resident, and %d are promised", c.more, most>>10, c.most)
		}
	}
}
