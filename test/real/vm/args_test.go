package vm

import (
	"slices"
	"strings"
	"testing"
)

func sample() hardware {
	return hardware{image: Image{Release: Trixie, Dir: "/c/trixie-1"}, memoryMB: 3072, cpus: 2,
		in: "/c/run-1/in.img", console: "/c/run-1/console",
		disks: []Disk{{Name: "data", Bytes: 1 << 30, File: "/c/a,b.img", IOPS: 3000}}}
}

// after gives the arguments that follow each of a name.
func after(args []string, name string) (all []string) {
	for i, a := range args[:len(args)-1] {
		if a == name {
			all = append(all, args[i+1])
		}
	}
	return all
}

func TestArguments(t *testing.T) {
	h := sample()
	args := h.arguments()
	for name, want := range map[string][]string{
		"-kernel": {"/c/trixie-1/kernel"},
		"-initrd": {"/c/trixie-1/initrd"},
		"-smp":    {"2"},
		"-m":      {"3072"},
		"-accel":  {"tcg,thread=multi"},
		"-cpu":    {processor},
		"-serial": {"chardev:console", "chardev:line"},
		"-drive": {
			"if=none,id=root,file=/c/trixie-1/disk,format=raw,snapshot=on,cache=unsafe",
			"if=none,id=in,file=/c/run-1/in.img,format=raw,read-only=on",
			"if=none,id=data,file=/c/a,,b.img,format=raw,cache=none,throttling.iops-total=3000"},
		"-device": {"virtio-rng-pci", "virtio-blk-pci,drive=root,serial=root", "virtio-blk-pci,drive=in,serial=in", "virtio-blk-pci,drive=data,serial=data"},
	} {
		if got := after(args, name); !slices.Equal(got, want) {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	if !slices.Contains(args, "-no-reboot") || !strings.Contains(after(args, "-append")[0], "panic=-1") {
		t.Error("a machine that panics would boot again")
	}
}

func TestArgumentsOfOtherMachines(t *testing.T) {
	h := sample()
	h.console, h.out = "", "/c/run-1/out.img"
	h.disks[0].Log, h.disks[0].IOPS = "/c/log", 0
	h.words = []string{"security=selinux", "enforcing=0"}
	args := h.arguments()
	if line := after(args, "-append")[0]; !strings.HasSuffix(line, " security=selinux enforcing=0") {
		t.Errorf("the kernel is not told: %q", line)
	}
	if got := after(args, "-serial"); !slices.Equal(got, []string{"mon:stdio"}) {
		t.Errorf("a shell's serial ports are %q", got)
	}
	drives := after(args, "-drive")
	if !slices.Contains(drives, "if=none,id=out,file=/c/run-1/out.img,format=raw,cache=unsafe") {
		t.Errorf("no disk for /out in %q", drives)
	}
	logged := "if=none,id=data,driver=blklogwrites,file.driver=file,file.filename=/c/a,,b.img,log.driver=file,log.filename=/c/log,log-sector-size=512,cache=none"
	if !slices.Contains(drives, logged) {
		t.Errorf("no logged disk in %q", drives)
	}
	if got := after(args, "-device"); !slices.Contains(got, "virtio-blk-pci,drive=data,serial=data,discard=off,write-zeroes=off") {
		t.Errorf("a logged disk may spoil its log: %q", got)
	}
}

func TestScriptCheck(t *testing.T) {
	good := Disk{Name: "data", Bytes: 1 << 30}
	for _, c := range []struct {
		name  string
		disks []Disk
		want  string // in the error; "" for none
	}{
		{"none", nil, ""},
		{"two", []Disk{good, {Name: "ledger", File: "x"}}, ""},
		{"same name", []Disk{good, good}, "two disks"},
		{"ours", []Disk{{Name: "out", Bytes: 1 << 30}}, "has one of that name"},
		{"no word", []Disk{{Name: "a,b", Bytes: 1 << 30}}, "small letters"},
		{"too long", []Disk{{Name: "aaaaaaaaaaaaaaaaa", Bytes: 1 << 30}}, "small letters"},
		{"no size", []Disk{{Name: "data"}}, "no disk"},
		{"limit", []Disk{{Name: "data", Bytes: 1 << 30, IOPS: -1}}, "-1 operations"},
	} {
		err := Script{Disks: c.disks}.check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
