package kernel

import (
	"errors"
	"io/fs"
	"strings"

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
	flags                                            bool   // the processor's flags are known (not on ARM)
	dmi                                              bool   // there are DMI tables
}

// platform reads what the machine runs on.
func (l *look) platform() {
	const dir = "/sys/class/dmi/id/"
	s := signs{
		vendor: l.word(dir + "sys_vendor"), product: l.word(dir + "product_name"), board: l.word(dir + "board_vendor"),
		bios: l.word(dir + "bios_vendor"), biosVersion: l.word(dir + "bios_version"),
		asset: l.word(dir + "chassis_asset_tag"), hypervisor: l.word("/sys/hypervisor/type"),
	}
	s.dmi = s.vendor != "" || s.product != "" || s.bios != ""
	if data, err := l.h.ReadFile(l.ctx, "/proc/cpuinfo"); err == nil {
		flags := strings.Fields(parseCPUInfo(data)["flags"])
		s.flags = len(flags) > 0
		for _, f := range flags {
			s.flag = s.flag || f == "hypervisor"
		}
	}
	if v := s.virtualization(); v != "" {
		l.t.Set("virtualization", stack.Text(v), dir+"* and /proc/cpuinfo")
	} else {
		l.sight.Gap(l.t.Ref, "neither DMI tables nor the processor tell whether the machine is virtual", "", "virtualization")
	}
	if c := s.cloud(); c != "" {
		l.t.Set("cloud", stack.Text(c), dir+"*")
	} else {
		l.sight.Gap(l.t.Ref, "there are no DMI tables that name a cloud vendor", "", "cloud")
	}
}

// virtualization names the hypervisor, "none", or "" when nothing tells.
func (s signs) virtualization() string {
	all := strings.ToLower(strings.Join([]string{s.vendor, s.product, s.board, s.bios}, "|"))
	switch {
	case s.vendor == "Amazon EC2" && strings.Contains(s.product, "metal"):
		return "none"
	case s.hypervisor == "xen", strings.Contains(all, "xen"):
		return "xen"
	case strings.Contains(all, "vmware"):
		return "vmware"
	case strings.Contains(all, "microsoft corporation") && strings.Contains(all, "virtual machine"):
		return "microsoft"
	case strings.Contains(all, "virtualbox"), strings.Contains(all, "innotek"):
		return "virtualbox"
	case strings.Contains(all, "kvm"), strings.Contains(all, "qemu"), s.vendor == "Amazon EC2",
		strings.Contains(all, "google compute engine"), strings.Contains(all, "openstack"):
		return "kvm"
	case s.flag:
		return "other"
	case s.flags:
		return "none" // every hypervisor that does not hide sets the flag
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
	ours, err1 := l.h.Readlink(l.ctx, "/proc/self/ns/mnt")
	theirs, err2 := l.h.Readlink(l.ctx, "/proc/1/ns/mnt")
	if err1 == nil && err2 == nil {
		marked := l.exists("/.dockerenv") || l.exists("/run/.containerenv") || l.exists("/run/systemd/container")
		l.t.Set(fact, stack.Bool(ours != theirs && marked), "/proc/self/ns")
		return
	}
	// Not comparable without root. Images for containers lie on an overlay or
	// a subvolume, so a whole block device as root is none.
	const mounts = "/proc/self/mountinfo"
	data, err := l.h.ReadFile(l.ctx, mounts)
	if err != nil || !rootIsDevice(data) {
		l.sight.Gap(l.t.Ref, "the mount namespace of the first process cannot be compared with ours", asRoot, fact)
		return
	}
	l.t.Set(fact, stack.Bool(false), mounts)
}

// rootIsDevice tells whether the root directory is the root of a filesystem
// on a block device.
func rootIsDevice(mountinfo []byte) bool {
	for line := range strings.Lines(string(mountinfo)) {
		head, tail, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(head), strings.Fields(tail)
		if ok && len(f) >= 5 && len(g) >= 2 && f[4] == "/" {
			return f[3] == "/" && strings.HasPrefix(g[1], "/dev/")
		}
	}
	return false
}
