package kernel

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"plumb/internal/host/mounts"
	"plumb/internal/host/processes"
	"plumb/internal/stack"
)

// security reads the mandatory access control in force.
func (l *look) security() {
	const enforce = "/sys/fs/selinux/enforce"
	data, err := l.h.ReadFile(l.ctx, enforce)
	switch {
	case err == nil && trim(data) == "1":
		l.t.Set("selinux", stack.Text("enforcing"), enforce)
	case err == nil:
		l.t.Set("selinux", stack.Text("permissive"), enforce)
	case errors.Is(err, fs.ErrNotExist):
		l.t.Set("selinux", stack.Text("disabled"), enforce)
	default:
		l.gap(err, "selinux")
	}
	const apparmor = "/sys/module/apparmor/parameters/enabled"
	data, err = l.h.ReadFile(l.ctx, apparmor)
	switch {
	case err == nil:
		l.t.Set("apparmor", stack.Bool(trim(data) == "Y"), apparmor)
	case errors.Is(err, fs.ErrNotExist):
		l.t.Set("apparmor", stack.Bool(false), apparmor)
	default:
		l.gap(err, "apparmor")
	}
}

// signs are the marks by which a machine tells what it is.
type signs struct {
	vendor, product, board, bios, biosVersion, asset string // DMI
	hypervisor                                       string // /sys/hypervisor/type
	flag                                             bool   // the processor says that it is virtual
	flags                                            bool   // the processor's flags are known: an x86
	foreign                                          bool   // the processor is known to be none
	dmi                                              bool   // there are DMI tables
	tree                                             deviceTree
	control                                          string // what s390 runs under: "none", "KVM/Linux", "z/VM    6.1.0"
}

// deviceTree is what firmware tells in place of DMI tables (POWER, RISC-V,
// many ARM).
type deviceTree struct {
	compatible string // of the machine: "qemu,pseries"; several are separated by zero bytes
	hypervisor string // compatible of its node hypervisor: "linux,kvm"
	partition  bool   // of PowerVM
	fwcfg      bool   // QEMU's device for configuration
}

// platform reads what the machine runs on. What only other architectures than
// x86 have is asked for only there.
func (l *look) platform() {
	const dir = "/sys/class/dmi/id/"
	s := signs{
		vendor: l.word(dir + "sys_vendor"), product: l.word(dir + "product_name"), board: l.word(dir + "board_vendor"),
		bios: l.word(dir + "bios_vendor"), biosVersion: l.word(dir + "bios_version"),
		asset: l.word(dir + "chassis_asset_tag"), hypervisor: l.word("/sys/hypervisor/type"),
	}
	s.dmi = s.vendor != "" || s.product != "" || s.bios != ""
	source := dir + "* and /proc/cpuinfo"
	if data, err := l.h.ReadFile(l.ctx, "/proc/cpuinfo"); err == nil {
		c := parseCPUInfo(data)
		s.flags, s.flag = len(c.Flags) > 0, slices.Contains(c.Flags, "hypervisor")
		s.foreign = !s.flags
		switch {
		case c.S390:
			source = "/proc/sysinfo"
			s.control = parseControlProgram(l.word(source))
		case !s.flags && !s.dmi:
			source = deviceTreeDir
			s.tree = l.deviceTree()
		}
	}
	if v := s.virtualization(); v != "" {
		l.t.Set("virtualization", stack.Text(v), source)
	} else {
		l.obs.Gap(l.t.Ref, "neither DMI tables, a device tree nor the processor show whether the machine is virtual", "", "virtualization")
	}
	if c := s.cloud(); c != "" {
		l.t.Set("cloud", stack.Text(c), dir+"*")
	} else {
		l.obs.Gap(l.t.Ref, "there are no DMI tables that name a cloud vendor", "", "cloud")
	}
}

const deviceTreeDir = "/proc/device-tree"

func (l *look) deviceTree() deviceTree {
	t := deviceTree{
		compatible: strings.Trim(l.word(deviceTreeDir+"/compatible"), "\x00"),
		hypervisor: strings.Trim(l.word(deviceTreeDir+"/hypervisor/compatible"), "\x00"),
		partition: l.exists(deviceTreeDir+"/ibm,partition-name") && l.exists(deviceTreeDir+"/hmc-managed?") &&
			!l.exists(deviceTreeDir+"/chosen/qemu,graphic-width"),
	}
	found, err := l.h.Glob(l.ctx, deviceTreeDir+"/*fw-cfg*")
	t.fwcfg = err == nil && len(found) > 0
	return t
}

// parseControlProgram reads under what an s390 runs from /proc/sysinfo: the
// innermost of its virtual machines is the first. A partition of the machine
// itself (LPAR) has none, and is "none".
func parseControlProgram(sysinfo string) string {
	if !strings.Contains(sysinfo, "Manufacturer:") {
		return ""
	}
	for line := range strings.Lines(sysinfo) {
		if name, ok := strings.CutPrefix(line, "VM00 Control Program:"); ok {
			return strings.TrimSpace(name)
		}
	}
	return "none"
}

// names are words in DMI tables that name a hypervisor. The first that is
// there counts; they are those of systemd-detect-virt, and of oVirt and
// OpenStack, which let no hypervisor shine through.
var names = []struct{ word, hypervisor string }{
	{"xen", "xen"}, {"vmware", "vmware"}, {"virtualbox", "virtualbox"}, {"innotek", "virtualbox"},
	{"kvm", "kvm"}, {"qemu", "kvm"}, {"google compute engine", "kvm"}, {"openstack", "kvm"}, {"kubevirt", "kvm"},
	{"rhev hypervisor", "kvm"}, {"ovirt", "kvm"},
	{"bochs", "other"}, {"parallels", "other"}, {"bhyve", "other"}, {"apple virtualization", "other"},
}

// virtualization names the hypervisor, "none", or "" when nothing tells.
func (s signs) virtualization() string {
	all := strings.ToLower(strings.Join([]string{s.vendor, s.product, s.board, s.bios}, "|"))
	switch {
	case s.vendor == "Amazon EC2" && strings.Contains(s.product, "metal"):
		return "none"
	case s.hypervisor == "xen":
		return "xen"
	case strings.Contains(all, "microsoft corporation") && strings.Contains(all, "virtual machine"):
		return "microsoft"
	}
	for _, n := range names {
		if strings.Contains(all, n.word) {
			return n.hypervisor
		}
	}
	switch {
	case s.vendor == "Amazon EC2":
		return "kvm"
	case s.flag:
		return "other"
	case s.control != "":
		return s.underControl()
	case s.tree != deviceTree{}:
		return s.tree.virtualization()
	case s.flags && s.dmi:
		return "none" // every hypervisor that does not hide sets the flag, or names itself in the tables
	case s.foreign && s.vendor != "" && s.product != "" && s.cloud() == "none":
		return "none" // the tables of a maker of machines; a cloud writes its name over both its kinds
	}
	return ""
}

// underControl tells what an s390 runs under.
func (s signs) underControl() string {
	switch {
	case s.control == "none":
		return "none"
	case strings.HasPrefix(s.control, "KVM"):
		return "kvm"
	case strings.HasPrefix(s.control, "z/VM"):
		return "zvm"
	}
	return "other"
}

func (t deviceTree) virtualization() string {
	switch {
	case t.hypervisor == "linux,kvm", t.fwcfg, strings.Contains(t.compatible, "qemu,pseries"):
		return "kvm"
	case strings.Contains(t.hypervisor, "xen"):
		return "xen"
	case strings.Contains(t.hypervisor, "vmware"):
		return "vmware"
	case t.partition:
		return "powervm"
	case t.hypervisor != "":
		return "other"
	case t.compatible != "":
		return "none" // firmware describes the board
	}
	return ""
}

// cloud names the vendor, "none", or "" when nothing tells.
func (s signs) cloud() string {
	switch {
	case s.vendor == "Amazon EC2", strings.Contains(strings.ToLower(s.biosVersion), "amazon"):
		return "aws"
	case s.asset == "7783-7084-3265-9085-8269-3286-77": // the same on every Azure machine
		return "azure"
	case s.product == "Google Compute Engine", s.vendor == "Google":
		return "gcp"
	case s.asset == "OracleCloud.com":
		return "oracle"
	case strings.HasPrefix(s.vendor, "Alibaba Cloud"):
		return "alibaba"
	case s.vendor == "DigitalOcean":
		return "digitalocean"
	case s.vendor == "Hetzner":
		return "hetzner"
	case s.dmi:
		return "none"
	}
	return ""
}

// initialPIDNamespace is the number of the first PID namespace on every
// kernel (PROC_PID_INIT_INO).
const initialPIDNamespace = "pid:[4026531836]"

// container tells whether we run in a container: what we see is then not all
// of the host, and some settings cannot be changed from here.
func (l *look) container() {
	const fact = "in_container"
	const ns = "/proc/self/ns/pid"
	pid, err := l.h.Readlink(l.ctx, ns)
	if err != nil {
		l.gap(err, fact)
		return
	}
	if pid != initialPIDNamespace {
		l.t.Set(fact, stack.Bool(true), ns)
		return
	}
	// A container may share the host's processes. Then it has other mounts
	// than the first process; an image started as a virtual machine has not,
	// although it holds the files that mark a container.
	if same, err := processes.SameMounts(l.ctx, l.h, "/proc/1"); err == nil {
		marked := l.exists("/.dockerenv") || l.exists("/run/.containerenv") || l.exists("/run/systemd/container")
		l.t.Set(fact, stack.Bool(!same && marked), "/proc/self/ns")
		return
	}
	// Not comparable without root. Images for containers lie on an overlay or
	// a subvolume, so a whole block device as root is none.
	const table = "/proc/self/mountinfo"
	data, err := l.h.ReadFile(l.ctx, table)
	if err != nil || !rootIsDevice(data) {
		l.obs.Gap(l.t.Ref, "the mount namespace of the first process cannot be compared with ours", asRoot, fact)
		return
	}
	l.t.Set(fact, stack.Bool(false), table)
}

// rootIsDevice tells whether the root directory is the root of a filesystem
// on a block device.
func rootIsDevice(table []byte) bool {
	for m, err := range mounts.Parse(table) {
		if err == nil && m.Mountpoint == "/" {
			return m.Root == "/" && strings.HasPrefix(m.Source, "/dev/")
		}
	}
	return false
}
