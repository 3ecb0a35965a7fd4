package vm

import (
	_ "embed" // the script
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/test/program"
)

//go:embed guest/recorder.sh
var recorder string

// TestRecorderOnSystemd runs the recorder by the unit that it prints, under a real
// systemd: as its own user, with two capabilities, writing nowhere else; killed,
// it comes back.
func TestRecorderOnSystemd(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			m := Open(t, release)
			plumb := program.ForTest(t)
			r := m.Do(t, Script{In: []string{plumb.Path}, Line: recorder, Systemd: true, Deadline: 20 * time.Minute})
			text := string(r.Output)
			t.Logf("booted in %v, all took %v\n%s", r.Boot, r.Took, text)
			for _, want := range []string{"unit: sound", "state: active, same process: 1\n", "user: plumb-watch\n",
				"CapEff:\t0000000000080004\n", "CapBnd:\t0000000000080004\n", "NoNewPrivs:\t1\n", // CAP_DAC_READ_SEARCH is 2, CAP_SYS_PTRACE 19
				"mode: 700 plumb-watch /var/lib/plumb-watch\n", "mode: 600 plumb-watch /var/lib/plumb-watch/recording.sqlite\n", "elsewhere: \n",
				"came back: active, another: 1\n", "stopped: success in 0\n", "replay: reads it\n"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q", want)
				}
			}
			if n, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(lineOf(text, "batches: "))); err != nil || n < 50 {
				t.Errorf("%d batches are in it, %v", n, err)
			}
		})
	}
}
