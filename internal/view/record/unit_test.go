package record

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnitIsWhatSystemdTakes(t *testing.T) {
	text, err := Unit("/bin/true") // systemd looks whether the program is there
	if err != nil {
		t.Fatal(err)
	}
	_, unit, found := strings.Cut(text, "plumb-watch.service\n")
	if !found {
		t.Fatal("there is no unit in it")
	}
	program, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	file := filepath.Join(t.TempDir(), "plumb-watch.service")
	// The manual is asked for, and is not installed here.
	if err := os.WriteFile(file, []byte(strings.Replace(unit, "Documentation=man:plumb(1)\n", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), "plumb-watch.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	bad := filepath.Join(t.TempDir(), "plumb-watch.service")
	if err := os.WriteFile(bad, []byte(strings.Replace(unit, "ProtectSystem=strict", "ProtectSystem=perhaps", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _ := exec.Command(program, "verify", "--man=no", bad).CombinedOutput(); !strings.Contains(string(out), "plumb-watch.service:") {
		t.Errorf("it finds nothing wrong with a wrong unit: %s", out)
	}
}

// TestUnitCanChangeNothing: one of its capabilities would let it change other processes.
func TestUnitCanChangeNothing(t *testing.T) {
	text, err := Unit("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "CAP_SYS_PTRACE") && !strings.Contains(text, "\nSystemCallFilter=~ptrace process_vm_writev pidfd_getfd\n") {
		t.Error("it may change what other processes have in memory, or take their files")
	}
	if strings.Contains(text, "\nProtectSystem=strict\n") && !strings.Contains(text, "\nReadOnlyPaths=-/dev/shm -/dev/mqueue\n") {
		t.Error("what is below /dev is not among what ProtectSystem protects, and every user may write to these")
	}
}

func TestUnitRefusesNamesThatSystemdReadsOtherwise(t *testing.T) {
	for _, name := range []string{"plumb", "/opt/my plumb", "/opt/%h/plumb", "/opt/a\nUser=root"} {
		if _, err := Unit(name); err == nil {
			t.Errorf("%q was written into a unit", name)
		}
	}
}
