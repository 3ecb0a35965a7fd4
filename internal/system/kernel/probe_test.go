package kernel

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

func lookAt(t *testing.T, m hosttest.Map) *stack.Stack {
	t.Helper()
	obs, err := New(hosttest.Catalog(t)).Collect(context.Background(), m, &stack.Stack{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stack.Stack{}
	s.Add("kernel", obs)
	return s
}

// machine is a fake host on its own hardware, with systemd.
func machine() hosttest.Map {
	return hosttest.Map{
		Files: map[string]string{
			"/proc/sys/kernel/hostname":                   "db1\n",
			"/proc/sys/kernel/osrelease":                  "6.1.0-28-amd64\n",
			"/proc/sys/vm/swappiness":                     "1\n",
			"/proc/sys/vm/dirty_ratio":                    "0\n",
			"/proc/sys/vm/dirty_bytes":                    "536870912\n",
			"/proc/sys/net/ipv4/ip_local_port_range":      "32768\t60999\n",
			"/proc/meminfo":                               meminfo,
			"/proc/vmstat":                                "nr_dirty_threshold 1000\nallocstall_dma 1\nallocstall_normal 2\noom_kill 0\n",
			"/proc/cpuinfo":                               cpuinfo,
			"/proc/pressure/memory":                       memoryPressure,
			"/etc/sysctl.d/90-db.conf":                    "# ours\nvm.swappiness = 10\n",
			"/usr/lib/sysctl.d/90-db.conf":                "vm.swappiness = 99\n",
			"/usr/lib/sysctl.d/95-x.conf":                 "vm/dirty_ratio=5\n-vm.dirty_bytes = 536870912\n",
			"/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
		},
		Links:   map[string]string{"/proc/self/ns/pid": initialPIDNamespace, "/proc/self/ns/mnt": "mnt:[1]", "/proc/1/ns/mnt": "mnt:[1]"},
		Stats:   map[string]host.Stat{"/run/systemd/system": {Mode: fs.ModeDir}},
		Outputs: map[string]string{"getconf PAGESIZE": "4096\n", "getconf GNU_LIBC_VERSION": "glibc 2.36\n"},
	}
}

func TestLookReadsAMachine(t *testing.T) {
	h := lookAt(t, machine()).Host()
	for fact, want := range map[string]stack.Value{
		"hostname": stack.Text("db1"), "memory_total": stack.Int(24684096 << 10), "vm_swappiness": stack.Int(1),
		"dirty_limit": stack.Int(4096000), "allocation_stalls": stack.Int(3), "oom_kills": stack.Int(0),
		"thp_enabled": stack.Text("madvise"), "psi_memory_full_avg300": stack.Float(0.5),
		"libc": stack.Text("glibc 2.36"), "in_container": stack.Bool(false), "virtualization": stack.Text("other"),
		"net_ipv4_ip_local_port_range": stack.Text("32768 60999"),
		"page_cache":                   stack.Int((79100 + 1856 - 8788) << 10),
	} {
		if got := h.Facts[fact].Value; !got.Equal(want) {
			t.Errorf("%s = %v, want %v", fact, got, want)
		}
	}
	for _, fact := range []string{"kernel_io_uring_disabled", "cpu_governor", "psi_io_full_avg10", "thp_defrag", "tuned_profile"} {
		if f, known := h.Facts[fact]; !known || !f.Value.IsAbsent() {
			t.Errorf("%s = %v, %v; want absent", fact, f, known)
		}
	}
}

func TestNextBoot(t *testing.T) {
	h := lookAt(t, machine()).Host()
	f := h.Facts["vm_swappiness"]
	if f.Next == nil || !f.Next.Value.Equal(stack.Int(10)) || f.Next.Origin.File != "/etc/sysctl.d/90-db.conf" || f.Next.Origin.Line != 2 {
		t.Errorf("vm_swappiness next = %+v", f.Next)
	}
	// dirty_bytes comes later in the file and zeroes dirty_ratio.
	for _, fact := range []string{"vm_dirty_ratio", "vm_dirty_bytes"} {
		if f := h.Facts[fact]; f.Next != nil || f.Origin == nil || f.Origin.From != stack.FromFile {
			t.Errorf("%s: origin %+v, next %+v; want a file and no change", fact, f.Origin, f.Next)
		}
	}
	want := []string{"vm.swappiness = 10 (now 1), /etc/sysctl.d/90-db.conf:2"}
	if got, _ := h.Facts["sysctl_next_boot"].Value.List(); !slices.Equal(got, want) {
		t.Errorf("sysctl_next_boot = %q, want %q", got, want)
	}
}

func TestSysctlConfCountsOnlyWhereItIsRead(t *testing.T) {
	m := machine()
	m.Files["/etc/sysctl.conf"] = "vm.swappiness=7\n"
	h := lookAt(t, m).Host()
	if got, _ := h.Facts["sysctl_conf_ignored"].Value.List(); !slices.Equal(got, []string{"vm.swappiness = 7"}) {
		t.Errorf("with systemd sysctl_conf_ignored = %q", got)
	}
	m.Links["/etc/sysctl.d/99-sysctl.conf"] = "../sysctl.conf"
	h = lookAt(t, m).Host()
	if f := h.Facts["vm_swappiness"]; f.Next == nil || !f.Next.Value.Equal(stack.Int(7)) {
		t.Errorf("with a link next = %+v", f.Next)
	}
	if got, _ := h.Facts["sysctl_conf_ignored"].Value.List(); len(got) != 0 {
		t.Errorf("with a link sysctl_conf_ignored = %q", got)
	}
	delete(m.Links, "/etc/sysctl.d/99-sysctl.conf")
	delete(m.Stats, "/run/systemd/system")
	h = lookAt(t, m).Host()
	if f := h.Facts["vm_swappiness"]; f.Next == nil || !f.Next.Value.Equal(stack.Int(7)) {
		t.Errorf("without systemd next = %+v", f.Next)
	}
}

func TestTunedOverridesFilesOfPackagesOnly(t *testing.T) {
	m := machine()
	m.Files["/etc/tuned/active_profile"] = "throughput-performance\n"
	h := lookAt(t, m).Host()
	if f := h.Facts["vm_dirty_bytes"]; f.Origin != nil {
		t.Errorf("a package's file counts: %+v", f.Origin)
	}
	if f := h.Facts["vm_swappiness"]; f.Next == nil {
		t.Error("the administrator's file does not count")
	}
}

func TestUnreadableBootFileLeavesAGap(t *testing.T) {
	m := machine()
	m.Errors = map[string]error{"file /etc/sysctl.d/90-db.conf": fs.ErrPermission}
	s := lookAt(t, m)
	if _, known := s.Host().Facts["sysctl_next_boot"]; known {
		t.Error("sysctl_next_boot is known")
	}
	if _, ok := s.GapFor(s.Host().Ref, "sysctl_next_boot"); !ok {
		t.Error("no gap")
	}
}

func TestPermissionIsAGapNotAbsence(t *testing.T) {
	m := machine()
	m.Errors = map[string]error{"file /proc/sys/vm/swappiness": fs.ErrPermission, "file /proc/meminfo": fs.ErrPermission}
	s := lookAt(t, m)
	for _, fact := range []string{"vm_swappiness", "memory_total", "swap_total"} {
		if f, known := s.Host().Facts[fact]; known {
			t.Errorf("%s is known: %v", fact, f)
		}
		if _, ok := s.GapFor(s.Host().Ref, fact); !ok {
			t.Errorf("no gap for %s", fact)
		}
	}
}

func TestContainer(t *testing.T) {
	m := machine()
	m.Links["/proc/self/ns/pid"] = "pid:[4026532999]"
	s := lookAt(t, m)
	if in, _ := s.Host().Bool("in_container"); !in {
		t.Error("another PID namespace is no container")
	}
	if f := s.Host().Facts["vm_swappiness"]; f.Next != nil {
		t.Errorf("files of the container count for the host: %+v", f.Next)
	}
}

// TestFactsAreDeclared also sees that a knob names the sysctl or the file that
// it is read from.
func TestFactsAreDeclared(t *testing.T) {
	cat := hosttest.Catalog(t)
	for name, f := range cat.Knobs("host") {
		if plain := strings.NewReplacer(".", "_", "-", "_").Replace(f.Shown); plain != name && !strings.HasPrefix(f.Shown, "/") {
			t.Errorf("%s is shown as %q", name, f.Shown)
		}
	}
	for _, thing := range lookAt(t, machine()).Things {
		for name := range thing.Facts {
			if cat.Fact(thing.Ref.Kind, name) == nil {
				t.Errorf("%s has the fact %s, which is not declared", thing.Ref.Kind, name)
			}
		}
	}
}
