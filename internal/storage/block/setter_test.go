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

	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/test/sandbox"
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
	udev, err := sandbox.Alone("udev") // its rules have one file
	sandbox.Need(t, err)
	defer udev.Close()
	name := loopDevice(t)
	doer := hosttest.LiveDoer(t)
	cat := hosttest.Catalog(t)
	for knob, to := range map[string]stack.Value{"read_ahead_kb": stack.Int(67), "max_sectors_kb": stack.Int(64), "rq_affinity": stack.Int(2), "scheduler": stack.Text("mq-deadline"), "nomerges": stack.Int(2)} {
		t.Run(knob, func(t *testing.T) {
			file := "/sys/block/" + name + "/queue/" + knob
			if text, err := os.ReadFile(file); err != nil || knob == "scheduler" && !strings.Contains(string(text), "mq-deadline") {
				t.Skipf("this kernel offers %q", text)
			}
			changetest.Run(t, changetest.Case{Doer: doer, Setter: Setter{}, Catalog: cat, Dir: changetest.Journal(t.TempDir()), Few: 30,
				Knob: stack.Knob{Of: stack.Ref{Kind: "block", Name: name}, Name: knob}, To: to,
				Observe: func() *stack.Stack {
					s := &stack.Stack{}
					obs, err := NewProbe(cat).Collect(context.Background(), doer, s)
					if err != nil {
						t.Fatal(err)
					}
					s.Add("block", obs)
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

// disks is a host with three disks, of which one has a partition.
func disks() (hosttest.Map, *stack.Stack) {
	h := hosttest.Map{Files: map[string]string{
		"/sys/block/vda/queue/scheduler": "[none] mq-deadline\n", "/sys/block/vda/serial": "vol-1\n", "/sys/block/vda/queue/read_ahead_kb": "128\n",
		"/sys/block/sda/queue/scheduler": "[none]\n", "/sys/block/sda/device/wwid": "naa.5000\n", "/sys/block/sda/queue/wbt_lat_usec": "2000\n",
		"/sys/block/sdb/queue/max_sectors_kb": "1280\n", "/sys/block/sdb/queue/max_hw_sectors_kb": "4096\n", "/sys/block/sdb/device/wwid": "t10.ATA a#b\n",
		"/etc/udev/rules.d/99-zzz.rules":   `KERNEL=="sd*", ATTR{queue/scheduler}=="bfq", ATTR{queue/read_ahead_kb}="4096"` + "\n",
		"/usr/lib/udev/rules.d/60-x.rules": `ATTR{queue/scheduler}="bfq"` + "\n",
	}, Stats: map[string]host.Stat{"/etc/udev/rules.d": {}}}
	var obs stack.Observation
	part := obs.New("block", "vda1")
	part.Set("layer", stack.Text("partition"), "test")
	part.Link("on", stack.Ref{Kind: "block", Name: "vda"})
	var s stack.Stack
	s.Add("test", obs)
	return h, &s
}

func wantOf(disk, knob string, to stack.Value) change.Want {
	return change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "block", Name: disk}, Name: knob}, To: to}
}

func TestSetterMatches(t *testing.T) {
	h, s := disks()
	for _, c := range []struct {
		disk, knob string
		to         stack.Value
		on, key    string
		notes      string
	}{
		{"vda", "scheduler", stack.Text("none"), "vda", `ATTR{serial}=="vol-1" ATTR{queue/scheduler}`, "new scheduler's defaults"},
		{"sda", "scheduler", stack.Text("none"), "sda", `ATTRS{wwid}=="naa.5000" ATTR{queue/scheduler}`, "new scheduler's defaults"},
		{"vda1", "read_ahead_kb", stack.Int(18), "vda", `ATTR{serial}=="vol-1" ATTR{queue/read_ahead_kb}`, "vda1 has no queue of its own: it is set for all of vda; /etc/udev/rules.d/99-zzz.rules sets read_ahead_kb too"},
		{"sdb", "max_sectors_kb", stack.Int(4096), "sdb", `KERNEL=="sdb" ATTR{queue/max_sectors_kb}`, "no serial number"},
	} {
		r, err := Setter{}.Recipe(t.Context(), h, s, wantOf(c.disk, c.knob, c.to))
		if err != nil || len(r.Acts) != 2 || r.Acts[0].Switch.On != "/sys/block/"+c.on+"/queue/"+c.knob || !strings.HasSuffix(r.Acts[1].Edit.Key, c.key) {
			t.Errorf("%s: %+v, %v", c.disk, r, err)
			continue
		}
		if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, c.notes) {
			t.Errorf("%s %s: notes %q", c.disk, c.knob, notes)
		}
		if c.knob == "read_ahead_kb" && r.Acts[0].Switch.After != "16" {
			t.Errorf("18 KiB are read back as %s", r.Acts[0].Switch.After)
		}
	}
}

func TestSetterRefuses(t *testing.T) {
	h, s := disks()
	for _, c := range []struct {
		disk, knob string
		to         stack.Value
		want       string
	}{
		{"vda1", "scheduler2", stack.Text("none"), "no such attribute"}, {"sdz", "scheduler", stack.Text("none"), "no such attribute"}, {"vda", "scheduler", stack.Text("bfq"), "offers no bfq"},
		{"sda", "wbt_lat_usec", stack.Int(-1), "is read back as another number"}, {"sdb", "max_sectors_kb", stack.Int(5000), "at most 4M per request"},
	} {
		_, err := Setter{}.Recipe(t.Context(), h, s, wantOf(c.disk, c.knob, c.to))
		if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, c.want) {
			t.Errorf("%s %s: %v", c.disk, c.knob, err)
		}
	}
}
