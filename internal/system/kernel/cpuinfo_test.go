package kernel

import (
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// What other architectures than x86 print. The beginnings of files that lscpu's
// tests have of real machines; of ARM's cores only what tells them apart.
const (
	cpuinfoARM64  = "processor\t: 0\nBogoMIPS\t: 38.40\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd46\nCPU revision\t: 1\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nprocessor\t: 2\nCPU implementer\t: 0x41\nCPU part\t: 0xd46\n"
	cpuinfoARMv7  = "Processor\t: ARMv7 Processor rev 4 (v7l)\nprocessor\t: 0\nBogoMIPS\t: 1694.10\n\nprocessor\t: 1\nBogoMIPS\t: 1694.10\n\nFeatures\t: swp half thumb\nCPU implementer\t: 0x41\nCPU architecture: 7\nCPU variant\t: 0x0\nCPU part\t: 0xc0f\nCPU revision\t: 4\n"
	cpuinfoPOWER7 = "processor\t: 0\ncpu\t\t: POWER7 (architected), altivec supported\nclock\t\t: 3000.000000MHz\nrevision\t: 2.1 (pvr 003f 0201)\n\nprocessor\t: 1\ncpu\t\t: POWER7 (architected), altivec supported\nclock\t\t: 3000.000000MHz\n\ntimebase\t: 512000000\nplatform\t: pSeries\nmodel\t\t: IBM,8233-E8B\nmachine\t\t: CHRP IBM,8233-E8B\n"
	cpuinfoS390   = "vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 3033.00\nmax thread id   : 0\nfeatures\t: esan3 zarch stfle msa ldisp eimm dfp edat etf3eh highgprs te vx \nprocessor 0: version = FF,  identification = 1633E8,  machine = 2964\nprocessor 1: version = FF,  identification = 1633E8,  machine = 2964\n\ncpu number      : 0\ncpu MHz dynamic : 5000\ncpu MHz static  : 5000\n"
	cpuinfoLPAR   = "vendor_id       : IBM/S390\n# processors    : 17\nbogomips per cpu: 14367.00\nprocessor 1: version = 00,  identification = 279F25,  machine = 2817\n"
	cpuinfoRISCV  = "processor\t: 0\nhart\t\t: 3\nisa\t\t: rv64imafdc_zicntr_zicsr\nmmu\t\t: sv39\nuarch\t\t: sifive,u74-mc\nmvendorid\t: 0x489\n"
	cpuinfoMilkV  = "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdcv\nmmu\t\t: sv39\nmvendorid\t: 0x5b7\nmarchid\t\t: 0x0\n"
	cpuinfoLoong  = "system type\t\t: generic-loongson-machine\n\nprocessor\t\t: 0\nCPU Family\t\t: Loongson-64bit\nModel Name\t\t: Loongson-3A5000-HV\nCPU MHz\t\t\t: 2500.00\n"
	sysinfoKVM    = "Manufacturer:         IBM             \nType:                 2817\nLPAR Name:            R17LP39 \n\nVM00 Name:            KVMguest\nVM00 Control Program: KVM/Linux       \nVM00 Adjustment:      1000\n"
	sysinfoLPAR   = "Manufacturer:         IBM             \nType:                 2817\nLPAR Name:            H42LP19 \n"
	cpu0Siblings  = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"
)

func TestParseCPUInfoOfOtherArchitectures(t *testing.T) {
	for _, c := range []struct {
		name, text, model string
		mhz               float64
	}{
		{"arm64", cpuinfoARM64, "ARM implementer 0x41 part 0xd46, Neoverse-V2", 0},
		{"armv7", cpuinfoARMv7, "ARM implementer 0x41 part 0xc0f", 0},
		{"power7", cpuinfoPOWER7, "POWER7 (architected)", 3000},
		{"s390", cpuinfoS390, "IBM/S390 machine 2964", 5000},
		{"s390_without_processor_0", cpuinfoLPAR, "IBM/S390 machine 2817", 0},
		{"riscv", cpuinfoRISCV, "sifive,u74-mc", 0},
		{"riscv_without_uarch", cpuinfoMilkV, "RISC-V rv64imafdcv", 0},
		{"loongarch", cpuinfoLoong, "Loongson-3A5000-HV", 2500},
		{"nothing", "", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parseCPUInfo([]byte(c.text))
			if got.Model != c.model || got.MHz != c.mhz || len(got.Flags) > 0 {
				t.Errorf("read %+v, want model %q and %v MHz", got, c.model, c.mhz)
			}
		})
	}
}

// TestLookReadsOtherArchitectures looks at whole hosts: what an x86 has is not
// there, and what stands elsewhere is found.
func TestLookReadsOtherArchitectures(t *testing.T) {
	const smt, cpu0 = "/sys/devices/system/cpu/smt/active", cpu0Siblings
	for _, c := range []struct {
		name  string
		files map[string]string
		want  map[string]stack.Value
	}{
		{"power_kvm", map[string]string{
			"/proc/cpuinfo": cpuinfoPOWER7, smt: "0\n", cpu0: "0-7\n", "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 100 kB\n",
			"/proc/device-tree/compatible": "qemu,pseries\x00", "/proc/device-tree/hypervisor/compatible": "linux,kvm\x00",
		}, map[string]stack.Value{"cpu_model": stack.Text("POWER7 (architected)"), "cpu_threads_shared": stack.Bool(true), "virtualization": stack.Text("kvm"), "numa_nodes": stack.Int(1), "numa_smallest_node": stack.Int(100 << 10)}},
		{"s390_kvm", map[string]string{"/proc/cpuinfo": cpuinfoS390, "/proc/sysinfo": sysinfoKVM, cpu0: "0\n"},
			map[string]stack.Value{"cpu_threads_shared": stack.Bool(false), "virtualization": stack.Text("kvm"), "cpu_mhz": stack.Float(5000)}},
		{"s390_lpar", map[string]string{"/proc/cpuinfo": cpuinfoLPAR, "/proc/sysinfo": sysinfoLPAR, smt: "1\n"},
			map[string]stack.Value{"cpu_threads_shared": stack.Bool(true), "virtualization": stack.Text("none")}},
		{"riscv_board", map[string]string{"/proc/cpuinfo": cpuinfoRISCV, "/proc/device-tree/compatible": "starfive,visionfive-2\x00starfive,jh7110\x00", cpu0: "0\n"},
			map[string]stack.Value{"cpu_model": stack.Text("sifive,u74-mc"), "virtualization": stack.Text("none"), "cpu_threads_shared": stack.Bool(false)}},
		{"x86_before_4.19", map[string]string{"/proc/cpuinfo": cpuinfo, cpu0: "0,4\n"},
			map[string]stack.Value{"cpu_threads_shared": stack.Bool(true), "virtualization": stack.Text("other")}},
		{"x86_says_no", map[string]string{"/proc/cpuinfo": cpuinfo, smt: "0\n", cpu0: "0-1\n"},
			map[string]stack.Value{"cpu_threads_shared": stack.Bool(false)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := lookAt(t, hosttest.Map{Files: c.files}).Host()
			for fact, want := range c.want {
				if f, known := h.Facts[fact]; !known || !f.Value.Equal(want) {
					t.Errorf("%s = %v (known %v), want %v", fact, f.Value, known, want)
				}
			}
		})
	}
	s := lookAt(t, hosttest.Map{Files: map[string]string{"/proc/cpuinfo": "flags\t: fpu vme\n"}})
	if _, known := s.Host().Facts["virtualization"]; known {
		t.Error("without DMI tables and without a flag nothing says that there is no hypervisor")
	}
}
