package kernel

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Captured from Linux 6.18.44 where nothing else is said.
const (
	meminfo = `MemTotal:       24684096 kB
MemFree:        24395396 kB
MemAvailable:   24354144 kB
Buffers:            1856 kB
Cached:            79100 kB
SwapTotal:             0 kB
SwapFree:              0 kB
Shmem:              8788 kB
PageTables:         2996 kB
HugePages_Total:       0
Hugepagesize:       2048 kB
`
	memoryPressure = "some avg10=0.00 avg60=0.12 avg300=0.71 total=123\nfull avg10=0.00 avg60=0.10 avg300=0.50 total=99\n"
	cpuinfo        = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor @ 2.50GHz\ncpu MHz\t\t: 2499.998\nflags\t\t: fpu vme hypervisor lahf_lm\n\nprocessor\t: 1\nmodel name\t: other\n"
	netstat        = "TcpExt: SyncookiesSent SyncookiesRecv ListenOverflows ListenDrops\nTcpExt: 0 0 17 18\nIpExt: InNoRoutes\nIpExt: 0\n"
	// From chrony's manual.
	tracking = "Reference ID    : CB00710F (foo.example.net)\nStratum         : 3\nLeap status     : Normal\n"
)

func TestParseMeminfo(t *testing.T) {
	m := ParseMeminfo([]byte(meminfo))
	if m["MemTotal"] != 24684096<<10 || m["Hugepagesize"] != 2<<20 || m["HugePages_Total"] != 0 {
		t.Errorf("ParseMeminfo = %v", m)
	}
}

func TestParsePressure(t *testing.T) {
	want := map[string]float64{"avg10": 0, "avg60": 0.10, "avg300": 0.50}
	if diff := cmp.Diff(want, parsePressure([]byte(memoryPressure), "full")); diff != "" {
		t.Error(diff)
	}
	if got := parsePressure([]byte(memoryPressure), "none"); got != nil {
		t.Errorf("a line that is not there gave %v", got)
	}
}

func TestParseCPUInfo(t *testing.T) {
	c := parseCPUInfo([]byte(cpuinfo))
	if c.Model != "Intel(R) Xeon(R) Processor @ 2.50GHz" || c.MHz != 2499.998 || !slices.Contains(c.Flags, "hypervisor") {
		t.Errorf("parseCPUInfo = %+v", c)
	}
	if mhz, ok := parseRated(c.Model); !ok || mhz != 2500 {
		t.Errorf("parseRated = %v, %v", mhz, ok)
	}
	if _, ok := parseRated("AMD EPYC 7763 64-Core Processor"); ok {
		t.Error("a rated clock was found in a name without one")
	}
}

func TestParseNetstat(t *testing.T) {
	if n, ok := parseNetstat([]byte(netstat), "TcpExt:", "ListenOverflows"); !ok || n != 17 {
		t.Errorf("ListenOverflows = %d, %v", n, ok)
	}
	if _, ok := parseNetstat([]byte(netstat), "TcpExt:", "Nothing"); ok {
		t.Error("a counter that is not there was found")
	}
}

func TestParseSwaps(t *testing.T) {
	data := "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n" +
		`/swap\040of\011two\134parts` + "                             file\t\t1048572\t\t0\t\t-2\n"
	want := []string{"/swap of\ttwo\\parts"}
	if got := parseSwaps([]byte(data)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseUpstream(t *testing.T) {
	for _, c := range []struct {
		name, release, version, signature, want string
		known                                   bool
	}{
		{"debian_12", "6.1.0-28-amd64", "Linux version 6.1.0-28-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)", "", "6.1.119", true},
		{"debian_13", "6.12.107+deb13-amd64", "Linux version 6.12.107+deb13-amd64 #1 SMP Debian 6.12.107-1 (2026-10-01)", "", "6.12.107", true},
		{"ubuntu", "6.8.0-45-generic", "Linux version 6.8.0-45-generic (buildd@lcy02)", "Ubuntu 6.8.0-45.45-generic 6.8.12", "6.8.12", true},
		{"ubuntu_without_signature", "6.8.0-45-generic", "Linux version 6.8.0-45-generic", "", "", false},
		{"red_hat", "5.14.0-427.13.1.el9_4.x86_64", "Linux version 5.14.0-427.13.1.el9_4.x86_64", "", "", true},
		{"suse", "5.14.21-150500.55.19-default", "", "", "", true},
		{"amazon", "6.1.119-129.201.amzn2023.x86_64", "", "", "6.1.119", true},
		{"fedora", "6.18.3-200.fc43.x86_64", "", "", "6.18.3", true},
		{"own_build", "7.0.4", "", "", "7.0.4", true},
		{"nothing", "", "", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, known := parseUpstream(c.release, c.version, c.signature)
			if got != c.want || known != c.known {
				t.Errorf("parseUpstream = %q, %v; want %q, %v", got, known, c.want, c.known)
			}
		})
	}
}

func TestParseBootParameters(t *testing.T) {
	got := parseBootParameters([]byte("root=/dev/vda quiet transparent_hugepage=never sysctl.vm.swappiness=1 psi=1 -- mitigations=off\n"))
	if diff := cmp.Diff([]string{"transparent_hugepage=never", "sysctl.vm.swappiness=1", "psi=1"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTimeServices(t *testing.T) {
	if yes, ok := parseChrony([]byte(tracking)); !ok || !yes {
		t.Errorf("parseChrony = %v, %v", yes, ok)
	}
	if yes, ok := parseChrony([]byte("Leap status     : Not synchronised\n")); !ok || yes {
		t.Errorf("parseChrony of a lost source = %v, %v", yes, ok)
	}
	if _, ok := parseChrony(nil); ok {
		t.Error("parseChrony of nothing is known")
	}
	on, yes, ok := parseTimedatectl([]byte("Timezone=UTC\nNTP=yes\nNTPSynchronized=no\n"))
	if !on || yes || !ok {
		t.Errorf("parseTimedatectl = %v, %v, %v", on, yes, ok)
	}
}

func TestPlatform(t *testing.T) {
	for _, c := range []struct {
		name         string
		s            signs
		virtu, cloud string
	}{
		{"nitro", signs{vendor: "Amazon EC2", product: "m7i.large", dmi: true, flag: true, flags: true}, "kvm", "aws"},
		{"aws_metal", signs{vendor: "Amazon EC2", product: "m7i.metal-24xl", dmi: true, flags: true}, "none", "aws"},
		{"aws_xen", signs{vendor: "Xen", product: "HVM domU", biosVersion: "4.11.amazon", dmi: true, flag: true, flags: true}, "xen", "aws"},
		{"azure", signs{vendor: "Microsoft Corporation", product: "Virtual Machine", asset: "7783-7084-3265-9085-8269-3286-77", dmi: true, flag: true, flags: true}, "microsoft", "azure"},
		{"gcp", signs{vendor: "Google", product: "Google Compute Engine", dmi: true, flag: true, flags: true}, "kvm", "gcp"},
		{"vmware", signs{vendor: "VMware, Inc.", product: "VMware7,1", dmi: true, flag: true, flags: true}, "vmware", "none"},
		{"metal", signs{vendor: "Dell Inc.", product: "PowerEdge R760", dmi: true, flags: true}, "none", "none"},
		{"firecracker", signs{flag: true, flags: true}, "other", ""},
		{"nothing", signs{}, "", ""},
		{"x86_without_dmi", signs{flags: true}, "", ""},
		{"unreadable_cpuinfo", signs{vendor: "Dell Inc.", product: "PowerEdge R760", dmi: true}, "", "none"},
		{"rhev", signs{vendor: "Red Hat", product: "RHEV Hypervisor", dmi: true, flag: true, flags: true}, "kvm", "none"},
		{"ovirt", signs{vendor: "oVirt", product: "oVirt Node", dmi: true, flag: true, flags: true}, "kvm", "none"},
		{"parallels", signs{vendor: "Parallels International GmbH.", product: "Parallels ARM Virtual Machine", dmi: true, foreign: true}, "other", "none"},
		{"arm_metal", signs{vendor: "HPE", product: "ProLiant RL300 Gen11", dmi: true, foreign: true}, "none", "none"},
		{"arm_graviton", signs{vendor: "Amazon EC2", product: "m7g.large", dmi: true, foreign: true}, "kvm", "aws"},
		{"arm_cloud", signs{vendor: "Hetzner", product: "vServer", dmi: true, foreign: true}, "", "hetzner"},
		{"arm_board", signs{foreign: true, tree: deviceTree{compatible: "raspberrypi,4-model-b\x00brcm,bcm2711"}}, "none", ""},
		{"arm_guest", signs{foreign: true, tree: deviceTree{compatible: "linux,dummy-virt", fwcfg: true}}, "kvm", ""},
		{"power_kvm", signs{foreign: true, tree: deviceTree{compatible: "qemu,pseries", hypervisor: "linux,kvm"}}, "kvm", ""},
		{"powervm", signs{foreign: true, tree: deviceTree{compatible: "IBM,8233-E8B", partition: true}}, "powervm", ""},
		{"power_metal", signs{foreign: true, tree: deviceTree{compatible: "ibm,powernv\x00ibm,p9-openpower"}}, "none", ""},
		{"s390_lpar", signs{foreign: true, control: "none"}, "none", ""},
		{"s390_zvm", signs{foreign: true, control: "z/VM    6.1.0"}, "zvm", ""},
		{"s390_kvm", signs{foreign: true, control: "KVM/Linux"}, "kvm", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.s.virtualization(); got != c.virtu {
				t.Errorf("virtualization = %q, want %q", got, c.virtu)
			}
			if got := c.s.cloud(); got != c.cloud {
				t.Errorf("cloud = %q, want %q", got, c.cloud)
			}
		})
	}
}

func FuzzParsers(f *testing.F) {
	for _, seed := range []string{meminfo, memoryPressure, cpuinfo, netstat, tracking, "0-3,8\n", "always [madvise] never\n", "vm.swappiness = 1\n-net.*.x\n", "Ubuntu 6.8.0-45.45-generic 6.8.12", logindConf} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ParseMeminfo(data)
		if value, _ := parseRemoveIPC(data); value != "" {
			_, _ = parseUnitBool(value)
		}
		ParseCounters(data)
		parseCPUInfo(data)
		parseRated(string(data))
		parseControlProgram(string(data))
		parsePressure(data, "some")
		parseNetstat(data, "TcpExt:", "ListenOverflows")
		parseSwaps(data)
		parseUpstream(string(data), string(data), string(data))
		parseBootParameters(data)
		parseChrony(data)
		parseTimedatectl(data)
		rootIsDevice(data)
		b := bootSettings{lines: append(parseSysctlFile(data, "x"), bootArguments(string(data))...)}
		b.find("vm.dirty_ratio")
		sysctlValue(string(data))
	})
}
