package block

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/knowledge"
)

// loopDevice makes a disk that is our own.
func loopDevice(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a loop device needs root")
	}
	file := filepath.Join(t.TempDir(), "disk")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, 16<<20)); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", file).Output()
	if err != nil {
		t.Skipf("no loop device to be had: %v", err)
	}
	name := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "-d", name).CombinedOutput(); err != nil {
			t.Errorf("losetup -d: %v %s", err, out)
		}
	})
	return strings.TrimPrefix(name, "/dev/")
}

// The conformance suite on a loop device's queue, with the machine's own
// udev rules.
func TestSuiteOnALoopDevice(t *testing.T) {
	name := loopDevice(t)
	hands := host.NewHands(host.NewLive(host.LiveOptions{}))
	defer hands.Close()
	cat, err := catalog.Load(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	for knob, to := range map[string]stack.Value{"read_ahead_kb": stack.Int(64), "scheduler": stack.Text("mq-deadline"), "nomerges": stack.Int(2)} {
		t.Run(knob, func(t *testing.T) {
			file := "/sys/block/" + name + "/queue/" + knob
			if text, err := os.ReadFile(file); err != nil || knob == "scheduler" && !strings.Contains(string(text), "mq-deadline") {
				t.Skipf("this kernel offers %q", text)
			}
			changetest.Run(t, changetest.Case{Doer: hands, Setter: Setter{}, Catalog: cat, Dir: changetest.Journal(t.TempDir()), Few: 9,
				Knob: stack.Knob{Of: stack.Ref{Kind: "block", Name: name}, Name: knob}, To: to,
				Observe: func() *stack.Stack {
					s := &stack.Stack{}
					sight, err := Probe{}.Look(context.Background(), hands, s)
					if err != nil {
						t.Fatal(err)
					}
					s.Add("block", sight)
					return s
				},
				State: func() string {
					text, err := os.ReadFile(file)
					rules, _ := os.ReadFile(udevOurs) // none is a state too
					return fmt.Sprint(string(text), err, string(rules))
				}})
		})
	}
}

func TestSetterRefusesAndMatches(t *testing.T) {
	h := hosttest.Map{Files: map[string]string{
		"/sys/block/vda/queue/scheduler": "[none] mq-deadline\n", "/sys/block/vda/serial": "vol-1\n",
		"/sys/block/sda/queue/scheduler": "[none]\n", "/sys/block/sda/device/wwid": "naa.5000\n", "/etc/udev/rules.d/x.rules": "",
	}, Stats: map[string]host.Stat{"/etc/udev/rules.d": {}}}
	want := func(disk, knob, to string) change.Want {
		return change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "block", Name: disk}, Name: knob}, To: stack.Text(to)}
	}
	for disk, key := range map[string]string{"vda": `ATTR{serial}=="vol-1" ATTR{queue/scheduler}`, "sda": `ATTRS{wwid}=="naa.5000" ATTR{queue/scheduler}`} {
		r, err := Setter{}.Recipe(t.Context(), h, &stack.Stack{}, want(disk, "scheduler", "none"))
		if err != nil || len(r.Acts) != 2 || !strings.HasSuffix(r.Acts[1].Edit.Key, key) {
			t.Errorf("%s: %+v, %v", disk, r, err)
		}
	}
	for _, c := range [][3]string{{"sda1", "scheduler", "none"}, {"vda", "scheduler", "bfq"}} {
		_, err := Setter{}.Recipe(t.Context(), h, &stack.Stack{}, want(c[0], c[1], c[2]))
		if _, ok := errors.AsType[*change.Refusal](err); !ok {
			t.Errorf("%v: %v", c, err)
		}
	}
}
