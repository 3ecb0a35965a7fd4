package vm

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Disk is a further disk of a machine. It writes past the cache of this
// machine, so that a kill of QEMU keeps all writes that were completed.
type Disk struct {
	// Name is also its serial number: /dev/disk/by-id/virtio-NAME, and
	// $DISK_NAME says its device. At most 16 small letters and digits.
	Name string
	// Bytes is the size of a new one.
	Bytes int64
	// IOPS limits reads and writes together each second, as a cloud volume does; 0 for no limit.
	IOPS int
	// File keeps it. A file that exists is used as it is. "" for one that goes away with the run.
	File string
	// Log is a file for the log of its writes and flushes, in the format of
	// Linux's dm-log-writes with sectors of 512 bytes; "" for none.
	Log string
}

// leastBytes is what a new disk has to have.
const leastBytes = 1 << 20

var diskName = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)

// ours are the names of the disks that every run has.
var ours = []string{"root", "in", "out"}

func (d Disk) check() error {
	switch {
	case !diskName.MatchString(d.Name):
		return fmt.Errorf("disk %q: a name has up to 16 small letters and digits and begins with a letter", d.Name)
	case slices.Contains(ours, d.Name):
		return fmt.Errorf("disk %q: the machine has one of that name", d.Name)
	case d.Bytes < leastBytes && d.File == "":
		return fmt.Errorf("disk %s: %d bytes are no disk", d.Name, d.Bytes)
	case d.IOPS < 0:
		return fmt.Errorf("disk %s: %d operations a second", d.Name, d.IOPS)
	}
	return nil
}

// hardware is a machine about to be started, its files made.
type hardware struct {
	image    Image
	memoryMB int
	cpus     int
	in, out  string   // images; out is "" for none
	disks    []Disk   // with their files
	console  string   // file for the kernel's console; "" for a shell on the terminal
	words    []string // more of them for the kernel
}

// processor is one without cmpxchg16b. With it a kernel 6.12 ended in a double
// fault right after that instruction, with an address in the flags, under QEMU
// 7.2+dfsg-7+deb12u18. Seen once; that QEMU is at fault is a guess. Without svm
// udev loads no hypervisor, for which a boot has no time.
const processor = "qemu64,-cx16,-svm"

// arguments gives QEMU's command line.
func (h hardware) arguments() []string {
	a := []string{"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine", "pc"}
	// Never kvm: there are hosts where it can be opened and a machine does not get as far as its first message.
	a = append(a, "-accel", "tcg,thread=multi", "-cpu", processor, "-smp", strconv.Itoa(h.cpus), "-m", strconv.Itoa(h.memoryMB),
		"-device", "virtio-rng-pci",
		"-kernel", h.image.file("kernel"), "-initrd", h.image.file("initrd"), "-append", h.kernelLine())
	a = append(a, device("root", "file="+escape(h.image.file("disk")), "format=raw", "snapshot=on", "cache=unsafe")...)
	a = append(a, device("in", "file="+escape(h.in), "format=raw", "read-only=on")...)
	if h.out != "" {
		a = append(a, device("out", "file="+escape(h.out), "format=raw", "cache=unsafe")...)
	}
	for _, d := range h.disks {
		drive := device(d.Name, d.options()...)
		if d.Log != "" {
			drive[len(drive)-1] += simple
		}
		a = append(a, drive...)
	}
	if h.console == "" {
		return append(a, "-serial", "mon:stdio")
	}
	return append(a, "-chardev", "file,id=console,path="+escape(h.console), "-serial", "chardev:console",
		"-chardev", "stdio,id=line,signal=off", "-serial", "chardev:line")
}

// simple leaves a logged disk without commands that a log of QEMU before 9.0,
// 8.2.2 or 7.2.10 is spoiled by: see research/powercut/writelog.
const simple = ",discard=off,write-zeroes=off"

// kernelLine has a machine that panics end instead of boot again, and leaves
// out what guards against neighbours it does not have.
func (h hardware) kernelLine() string {
	words := []string{"console=ttyS0", "root=LABEL=plumb-root", "rw", "init=/sbin/plumb-init", "panic=-1", "mitigations=off", "fsck.mode=skip", "net.ifnames=0"}
	if h.console == "" {
		words = append(words, "quiet")
	}
	words = append(words, h.words...)
	return strings.Join(words, " ")
}

// options are those of -drive.
func (d Disk) options() []string {
	all := []string{"file=" + escape(d.File), "format=raw", "cache=none"}
	if d.Log != "" {
		all = []string{"driver=blklogwrites", "file.driver=file", "file.filename=" + escape(d.File),
			"log.driver=file", "log.filename=" + escape(d.Log), "log-sector-size=512", "cache=none"}
	}
	if d.IOPS > 0 {
		all = append(all, "throttling.iops-total="+strconv.Itoa(d.IOPS))
	}
	return all
}

func device(name string, options ...string) []string {
	return []string{"-drive", "if=none,id=" + name + "," + strings.Join(options, ","),
		"-device", "virtio-blk-pci,drive=" + name + ",serial=" + name}
}

// escape lets a path have commas.
func escape(path string) string { return strings.ReplaceAll(path, ",", ",,") }

// absolute gives disks whose files have full names.
func absolute(disks []Disk) ([]Disk, error) {
	all := slices.Clone(disks)
	for i := range all {
		for _, name := range []*string{&all[i].File, &all[i].Log} {
			if *name == "" {
				continue
			}
			full, err := filepath.Abs(*name)
			if err != nil {
				return nil, err
			}
			*name = full
		}
	}
	return all, nil
}
