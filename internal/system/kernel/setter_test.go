package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/host"
	"plumb/internal/host/chroot"
	"plumb/internal/host/hosttest"
	"plumb/internal/host/proc"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// looking reads the host as check does.
func looking(t *testing.T, h host.Reader) func() *stack.Stack {
	return func() *stack.Stack {
		obs, err := New(hosttest.Catalog(t)).Collect(context.Background(), h, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &stack.Stack{}
		s.Add("kernel", obs)
		return s
	}
}

// contents gives files as text; "(none)" for one that is not there.
func contents(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			text = []byte("(none)\n")
		}
		fmt.Fprintf(&b, "%s: %s", n, text)
	}
	return b.String()
}

// In a scratch root: a sysctl that /etc/sysctl.conf sets, which is read last,
// is edited there; others go into a file of ours.
func TestSetterInAScratchRoot(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"/proc/sys/kernel/hostname": "scratch\n", "/proc/sys/vm/swappiness": "60\n", "/proc/sys/vm/page-cluster": "3\n",
		"/etc/sysctl.conf": "# by hand\nvm.swappiness = 60 # old\n", "/etc/sysctl.d/10-x.conf": "vm.page-cluster=3\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(dir+name), 0o755), os.WriteFile(dir+name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	under := chroot.New(hosttest.LiveDoer(t), dir)
	for knob, lasts := range map[string]string{"vm_swappiness": "/etc/sysctl.conf", "vm_page_cluster": sysctlOurs} {
		t.Run(knob, func(t *testing.T) {
			c := changetest.Case{Doer: under, Setter: Setter{}, Catalog: hosttest.Catalog(t), Dir: "/var/lib/plumb", Observe: looking(t, under),
				Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "scratch"}, Name: knob}, To: stack.Int(1), Few: 7,
				State: func() string {
					return contents(dir+"/proc/sys/vm/swappiness", dir+"/proc/sys/vm/page-cluster", dir+"/etc/sysctl.conf", dir+sysctlOurs)
				}}
			r, err := c.Setter.Recipe(t.Context(), under, c.Observe(), change.Want{Knob: c.Knob, To: c.To, Fact: c.Catalog.Fact("host", knob)})
			if err != nil || r.Lasts != lasts {
				t.Fatalf("it lasts in %s, %v", r.Lasts, err)
			}
			changetest.Run(t, c)
		})
	}
}

// On this kernel: one of a pair is set while the other is in force, and what
// offers choices.
func TestSetterOnThisKernel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("setting sysctls needs root")
	}
	h := hosttest.LiveDoer(t)
	here := looking(t, h)().Host()
	if inside, _ := here.Bool("in_container"); inside {
		t.Skip("the kernel's settings belong to the host, and this is a container")
	}
	name := here.Ref.Name
	dirty, err := sandbox.Alone("vm-dirty") // these settings are of the whole machine
	sandbox.Need(t, err)
	defer dirty.Close()
	for knob, to := range map[string]stack.Value{
		"vm_dirty_background_bytes": stack.Int(128 << 20), "thp_defrag": stack.Text("defer"), "net_ipv4_ip_local_port_range": stack.Text("32000 60001"), // those below are what sandbox.FreePort gives
	} {
		t.Run(knob, func(t *testing.T) {
			fact := hosttest.Catalog(t).Fact("host", knob)
			now, known := looking(t, h)().Host().Get(knob)
			if !known || now.Equal(to) {
				t.Skipf("this kernel has no %s, or it is %v already", fact.Shown, to)
			}
			if err := h.Writable(t.Context(), shownFile(fact.Shown)); err != nil {
				t.Skipf("not writable here: %v", err)
			}
			changetest.Run(t, changetest.Case{Doer: h, Setter: Setter{}, Catalog: hosttest.Catalog(t), Dir: filepath.Join(t.TempDir(), "plumb"), Observe: looking(t, h),
				Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: name}, Name: knob}, To: to, Few: 5,
				State: func() string {
					return contents(shownFile(fact.Shown), "/proc/sys/vm/dirty_background_ratio", sysctlOurs, tmpfilesOurs, "/etc/sysctl.conf")
				}})
		})
	}
}

func shownFile(shown string) string {
	if strings.HasPrefix(shown, "/") {
		return shown
	}
	return proc.Sysctl(shown)
}

func TestSetterRefuses(t *testing.T) {
	cat := hosttest.Catalog(t)
	inside := &stack.Stack{}
	var obs stack.Observation
	obs.New("host", "x").Set("in_container", stack.Bool(true), "test")
	inside.Add("test", obs)
	for _, c := range []struct {
		name, knob string
		to         stack.Value
		s          *stack.Stack
		want       string
	}{
		{"in a container", "vm_swappiness", stack.Int(1), inside, "belongs to the host"},
		{"zero of a pair", "vm_dirty_bytes", stack.Int(0), &stack.Stack{}, "vm.dirty_ratio is in force"},
		{"not there", "vm_zone_reclaim_mode", stack.Int(0), &stack.Stack{}, "this kernel has no vm.zone_reclaim_mode"},
		{"no cpufreq", "cpu_governor", stack.Text("performance"), &stack.Stack{}, "this kernel has no /sys/devices/system/cpu/cpufreq/policy"},
	} {
		h := hosttest.Map{Files: map[string]string{"/proc/sys/vm/dirty_bytes": "1\n", "/proc/sys/vm/swappiness": "60\n"}}
		_, err := Setter{}.Recipe(t.Context(), h, c.s, change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "x"}, Name: c.knob}, To: c.to, Fact: cat.Fact("host", c.knob)})
		if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Which file decides depends on who reads them at boot.
func TestLastingFile(t *testing.T) {
	fact := hosttest.Catalog(t).Fact("host", "vm_swappiness")
	for _, c := range []struct {
		name  string
		files map[string]string
		image bool
		want  string // file, or a part of the refusal
	}{
		{"systemd reads no sysctl.conf", map[string]string{"/run/systemd/system": "", "/etc/sysctl.conf": "vm.swappiness=60\n"}, false, sysctlOurs},
		{"an image with systemd", map[string]string{"/usr/lib/systemd/systemd": "", "/etc/sysctl.conf": "vm.swappiness=60\n"}, true, sysctlOurs},
		{"procps reads it last", map[string]string{"/etc/sysctl.conf": "vm.swappiness=60\n"}, false, sysctlConf},
		{"a later file", map[string]string{"/run/systemd/system": "", "/etc/sysctl.d/99-zzz.conf": "vm.swappiness=60\n"}, false, "/etc/sysctl.d/99-zzz.conf"},
		{"a later file of a package", map[string]string{"/run/systemd/system": "", "/usr/lib/sysctl.d/99-zzz.conf": "vm.swappiness=60\n"}, false, "after every file that Plumb writes"},
	} {
		c.files["/proc/sys/vm/swappiness"] = "60\n"
		r, err := Setter{}.Recipe(t.Context(), hosttest.Map{Files: c.files}, &stack.Stack{},
			change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "x"}, Name: "vm_swappiness"}, To: stack.Int(1), Fact: fact, Image: c.image})
		if got := r.Lasts; err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
}
