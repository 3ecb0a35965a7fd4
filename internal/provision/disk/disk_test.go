package disk

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision/spec"
	"plumb/test/sandbox"
)

// image is a disk of a test: a file behind a loop device.
type image struct {
	file, loop string
	bytes      int64
	swapped    int64 // where the kernel's own swap on it ends; its header is the first page
}

func disks(t *testing.T) *sandbox.Box {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for loop devices")
	}
	box, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

func aDisk(t *testing.T, box *sandbox.Box, name string, megabytes int) image {
	t.Helper()
	loop, err := box.Loop(name, megabytes)
	sandbox.Need(t, err)
	return image{filepath.Join(box.Dir, name+".img"), loop, int64(megabytes) << 20, 0}
}

func doer(t *testing.T) *host.LiveDoer {
	t.Helper()
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	t.Cleanup(func() { d.Close() })
	return d
}

func sh(t *testing.T, script string, args ...string) string {
	t.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// sum is the hash of a file.
func sum(t *testing.T, file string) string { t.Helper(); return image{file: file}.sum(t) }

// sum is the hash of all but what the kernel swaps out to it, which no Plumb writes.
func (i image) sum(t *testing.T) string {
	t.Helper()
	f, err := os.Open(i.file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	page := int64(os.Getpagesize())
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, page)); err != nil {
		t.Fatal(err)
	}
	from := max(page, i.swapped)
	if _, err := io.Copy(h, io.NewSectionReader(f, from, math.MaxInt64-from)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// looked looks with a machine that refuses every write.
func looked(t *testing.T, d *host.LiveDoer, s spec.Disk) (Disk, error) {
	t.Helper()
	r := hosttest.NewRefusing(d)
	got, err := Look(t.Context(), r, s)
	if tried := r.Attempts(); len(tried) > 0 {
		t.Errorf("looking wanted to change something: %v", tried)
	}
	return got, err
}

// prove runs what an act would run first.
func prove(t *testing.T, d *host.LiveDoer, of Disk) error {
	t.Helper()
	_, err := d.Run(t.Context(), of.Proof().Argv...)
	return err
}

func TestAnEmptyDiskIsTaken(t *testing.T) {
	t.Parallel()
	box := disks(t)
	i := aDisk(t, box, "empty", 40)
	d := doer(t)
	got, err := looked(t, d, spec.Disk{Path: i.loop, Size: i.bytes})
	if err != nil || Refuse(got) != nil {
		t.Fatalf("%v, %v", err, Refuse(got))
	}
	if got.Size != i.bytes || got.Logical != 512 || got.Physical == 0 || got.Read != 2*Edge || got.Name != filepath.Base(i.loop) || got.Identity == "" {
		t.Errorf("%+v", got)
	}
	if err := prove(t, d, got); err != nil {
		t.Error(err)
	}
	sh(t, `printf x | dd of="$1" bs=1 seek=9000000 conv=notrunc status=none`, i.loop) // somebody's, between plan and apply
	if err := prove(t, d, got); err == nil || !strings.Contains(err.Error(), "is no longer empty") {
		t.Errorf("written to meanwhile: %v", err)
	}
}

// Each trap is set on a disk of its own: it is refused, by what it says and by the proof
// of the act, and not a byte of it has changed.
func TestTraps(t *testing.T) {
	box := disks(t)
	d := doer(t)
	for name, c := range map[string]struct {
		set  string // shell: $1 is the device
		want string
	}{
		"ext4":                        {`mkfs.ext4 -q "$1"`, "ext2, ext3 or ext4"},
		"xfs":                         {`mkfs.xfs -q "$1"`, "XFS"},
		"btrfs":                       {`mkfs.btrfs -q "$1"`, "btrfs"},
		"btrfs, the head wiped":       {`mkfs.btrfs -q "$1"; dd if=/dev/zero of="$1" bs=1M count=16 conv=notrunc status=none; dd if=/dev/zero of="$1" bs=1M count=16 seek=114 conv=notrunc status=none`, "the second superblock of btrfs"},
		"swap":                        {`mkswap "$1" >/dev/null`, "swap"},
		"LUKS":                        {`echo password | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$1" -`, "LUKS"},
		"LUKS, the head wiped":        {`echo password | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$1" -; dd if=/dev/zero of="$1" bs=4096 count=4 conv=notrunc status=none`, "the second header of LUKS"},
		"LVM":                         {`pvcreate -q -q "$1" >/dev/null 2>&1`, "LVM"},
		"partitions":                  {`printf 'label: gpt\nsize=8M\n' | sfdisk -q --no-reread "$1"`, "GPT"},
		"an MBR":                      {`printf 'label: dos\nsize=8M\n' | sfdisk -q --no-reread "$1"`, "an MBR"},
		"the second GPT alone":        {`printf 'label: gpt\nsize=8M\n' | sfdisk -q --no-reread "$1"; dd if=/dev/zero of="$1" bs=1M count=16 conv=notrunc status=none`, "the second GPT, at the end"},
		"a byte in the midst of head": {`printf x | dd of="$1" bs=1 seek=12345678 conv=notrunc status=none`, "the byte at 12345678 is not zero"},
		"a byte before the end":       {`printf x | dd of="$1" bs=1 seek=41943039 conv=notrunc status=none`, "the byte at 41943039 is not zero"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			megabytes := 40
			switch { // they make no smaller ones
			case strings.HasPrefix(name, "btrfs"):
				megabytes = 130
			case name == "xfs":
				megabytes = 320
			}
			for program, of := range map[string]string{"sfdisk": "fdisk", "cryptsetup": "cryptsetup-bin", "pvcreate": "lvm2", "mkfs.btrfs": "btrfs-progs", "mkfs.xfs": "xfsprogs"} {
				if _, err := exec.LookPath(program); err != nil && strings.Contains(c.set, program) {
					sandbox.Need(t, sandbox.Missing{What: "no " + program, Hint: "apt-get install " + of})
				}
			}
			i := aDisk(t, box, strings.NewReplacer(" ", "-", ",", "").Replace(name), megabytes)
			before, err := looked(t, d, spec.Disk{Path: i.loop})
			if err != nil {
				t.Fatal(err)
			}
			sh(t, c.set+`; sync "$1"`, i.loop)
			refused(t, d, i, before, c.want)
		})
	}
}

// refused looks at a disk that must be refused, with a spec that would even erase it, and proves that nothing
// was written.
func refused(t *testing.T, d *host.LiveDoer, i image, before Disk, want string) {
	t.Helper()
	was := i.sum(t)
	got, err := looked(t, d, spec.Disk{Path: i.loop})
	if err == nil {
		err = Refuse(got)
	}
	if _, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(err.Error(), want) {
		t.Errorf("it says %v, want %s", err, want)
	}
	if err := prove(t, d, before); err == nil {
		t.Error("the proof within the act takes it")
	}
	if i.sum(t) != was {
		t.Error("it was written to")
	}
}

func TestADiskInUseIsRefused(t *testing.T) {
	box := disks(t)
	d := doer(t)
	i := aDisk(t, box, "mounted", 40)
	empty, err := looked(t, d, spec.Disk{Path: i.loop})
	if err != nil {
		t.Fatal(err)
	}
	sh(t, `mkfs.ext4 -q "$1"`, i.loop)
	dir, err := box.Mount("at", "ext4", i.loop, "ro,noload")
	if err != nil && dir == "" {
		sandbox.Need(t, err)
	}
	refused(t, d, i, empty, "is mounted at "+filepath.Join(box.Dir, "at"))

	o := aDisk(t, box, "opened", 40)
	empty, err = looked(t, d, spec.Disk{Path: o.loop})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(o.loop)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := looked(t, d, spec.Disk{Path: o.loop})
	if err != nil || Refuse(got) == nil || !strings.Contains(Refuse(got).Error(), fmt.Sprintf("is open in process %d", os.Getpid())) {
		t.Errorf("%v, %v", err, Refuse(got))
	}
	_ = empty

	on := aDisk(t, box, "behind", 40)
	second := sh(t, `losetup --find --show --read-only "$1"`, on.loop)
	defer sh(t, `losetup -d "$1"`, second)
	if got, err := looked(t, d, spec.Disk{Path: on.loop}); err != nil || Refuse(got) == nil || !strings.Contains(Refuse(got).Error(), "is behind "+filepath.Base(second)) {
		t.Errorf("%v, %v", err, Refuse(got))
	}
}

func TestSwapInUseIsRefused(t *testing.T) {
	box := disks(t)
	d := doer(t)
	i := aDisk(t, box, "swapon", 40)
	empty, err := looked(t, d, spec.Disk{Path: i.loop})
	if err != nil {
		t.Fatal(err)
	}
	i.swapped = 1 << 20
	sh(t, `mkswap "$1" 1024 >/dev/null`, i.loop)
	if out, err := exec.Command("swapon", i.loop).CombinedOutput(); err != nil {
		t.Skipf("no swap can be added here: %s", out)
	}
	defer sh(t, `swapoff "$1"`, i.loop)
	refused(t, d, i, empty, "is swap")
}

// Between plan and apply another disk comes to the same path.
func TestAnotherDiskIsRefused(t *testing.T) {
	box := disks(t)
	d := doer(t)
	a, b := aDisk(t, box, "planned", 40), aDisk(t, box, "other", 40)
	link := filepath.Join("/dev/disk", filepath.Base(box.Dir))
	if err := os.MkdirAll("/dev/disk", 0o755); err != nil {
		t.Skipf("no names in /dev can be made here: %v", err)
	}
	t.Cleanup(func() { os.Remove(link) })
	if err := os.Symlink(a.loop, link); err != nil {
		t.Skip(err)
	}
	planned, err := looked(t, d, spec.Disk{Path: link, Size: a.bytes})
	if err != nil || Refuse(planned) != nil {
		t.Fatal(err, Refuse(planned))
	}
	if err := errors.Join(os.Remove(link), os.Symlink(b.loop, link)); err != nil {
		t.Fatal(err)
	}
	if err := prove(t, d, planned); err == nil || !strings.Contains(err.Error(), "leads to another disk") {
		t.Errorf("another disk: %v", err)
	}
	sh(t, `losetup -d "$1"; truncate -s 40M "$2.new"; losetup "$1" "$2.new"`, a.loop, a.file)
	if err := errors.Join(os.Remove(link), os.Symlink(a.loop, link)); err != nil {
		t.Fatal(err)
	}
	if err := prove(t, d, planned); err == nil || !strings.Contains(err.Error(), "is not the disk that was checked") {
		t.Errorf("another behind the same name: %v", err)
	}
}

// After a start of the machine the kernel may call a disk otherwise, and another one by its name of before. What was made on
// it is taken back all the same, and the other one is left alone.
func TestADiskIsKnownByAnotherName(t *testing.T) {
	box := disks(t)
	d := doer(t)
	a, b := aDisk(t, box, "used", 40), aDisk(t, box, "named", 40)
	used, err := looked(t, d, spec.Disk{Path: a.loop})
	if err != nil {
		t.Fatal(err)
	}
	sh(t, `mkfs.ext4 -q -U "$3" "$1"; mkfs.ext4 -q -U "$3" "$2"; sync "$1" "$2"`, a.loop, b.loop, itsUUID)
	was := sum(t, b.file)
	used.Identity = filepath.Base(b.loop) + "/ro" // where it was read when the other's name was its own
	used.Digest = digest([]byte("0\n"))
	for _, op := range []change.Op{used.Forget(), used.BlankFilesystem("ext4", itsUUID, 1128)} {
		if out, err := run(op); err != nil {
			t.Errorf("it is not known any more: %v: %s", err, out)
		}
	}
	sh(t, `cmp -n 16777216 "$1" /dev/zero`, a.loop)
	used.Spec.Path, used.Digest = b.loop, digest([]byte("S2\n")) // which the path leads to today
	for _, op := range []change.Op{used.Forget(), used.BlankFilesystem("ext4", itsUUID, 1128)} {
		if _, err := run(op); err == nil || sum(t, b.file) != was {
			t.Errorf("another disk was made empty: %v", err)
		}
	}
}

const itsUUID = "0a3f7a52-5fcd-4a8b-9c71-4f4e6d0b1a2c"

func run(op change.Op) (string, error) {
	out, err := exec.Command(op.Argv[0], op.Argv[1:]...).CombinedOutput()
	return string(out), err
}

// A disk without a serial number is not known after a start of the machine. What was just read on it counts then, where something was.
func TestADiskWithoutASerialIsMadeEmptyAgain(t *testing.T) {
	box := disks(t)
	d := doer(t)
	a := aDisk(t, box, "silent", 40)
	used, err := looked(t, d, spec.Disk{Path: a.loop})
	if err != nil {
		t.Fatal(err)
	}
	sh(t, `mkfs.ext4 -q -U "$3" "$1"; sync "$1"; losetup -d "$1"; losetup "$1" "$2"`, a.loop, a.file, itsUUID) // as it is attached anew
	for _, op := range []change.Op{used.Forget(), used.BlankFilesystem("ext4", itsUUID, 1128), used.BlankFilesystem("ext4", itsUUID, 1128)} {
		if out, err := run(op); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
	sh(t, `cmp -n 16777216 "$1" /dev/zero`, a.loop)
}

// An undo that goes on where another was killed finds the disk as others have left it: only what is left of what was made goes.
func TestOnlyWhatIsLeftIsMadeZero(t *testing.T) {
	box := disks(t)
	d := doer(t)
	for name, c := range map[string]struct{ set, want string }{
		"forgotten":           {`mkfs.ext4 -q -U "$2" "$1"; wipefs -a -q "$1"`, ""},
		"the end zero":        {`mkfs.ext4 -q -U "$2" "$1"; wipefs -a -q "$1"; dd if=/dev/zero of="$1" bs=1M seek=24 count=16 conv=notrunc status=none`, ""},
		"another ext4":        {`mkfs.ext4 -q -U random "$1"`, "does not have the remains"},
		"ext4 and swap":       {`mkfs.ext4 -q -U "$2" "$1"; wipefs -a -q "$1"; printf SWAPSPACE2 | dd of="$1" bs=1 seek=4086 conv=notrunc status=none; printf '\001\000\000\000\377\000\000\000' | dd of="$1" bs=1 seek=1024 conv=notrunc status=none`, "has a signature of swap now"},
		"bytes of a stranger": {`printf theirs | dd of="$1" bs=1 seek=5000000 conv=notrunc status=none`, "does not have the remains"},
	} {
		t.Run(name, func(t *testing.T) {
			i := aDisk(t, box, strings.ReplaceAll(name, " ", "-"), 40)
			used, err := looked(t, d, spec.Disk{Path: i.loop})
			if err != nil {
				t.Fatal(err)
			}
			sh(t, c.set+`; sync "$1"`, i.loop, itsUUID)
			was := i.sum(t)
			out, err := run(used.BlankFilesystem("ext4", itsUUID, 1128))
			if (err == nil) != (c.want == "") || !strings.Contains(out, c.want) {
				t.Errorf("%v: %s", err, out)
			}
			if c.want != "" && i.sum(t) != was {
				t.Error("it was written to")
			}
			if c.want == "" {
				sh(t, `cmp -n 16777216 "$1" /dev/zero; tail -c 16M "$1" | cmp -n 16777216 - /dev/zero`, i.loop)
			}
		})
	}
}

// aLabel is the beginning of a label of ZFS, as each release writes it.
func aLabel(pool string, state, txg byte, log ...byte) string {
	number := func(name string, n byte) string {
		pad := strings.Repeat("\x00", (4-len(name)%4)%4)
		return "\x00\x00\x00\x20\x00\x00\x00\x20\x00\x00\x00" + string(rune(len(name))) + name + pad + "\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00" + string(rune(n))
	}
	named, isLog := "", ""
	for _, n := range log {
		isLog = number("is_log", n)
	}
	if pool != "" {
		named = "\x00\x00\x00\x28\x00\x00\x00\x28\x00\x00\x00\x04name\x00\x00\x00\x09\x00\x00\x00\x01\x00\x00\x00" + string(rune(len(pool))) + pool + strings.Repeat("\x00", (4-len(pool)%4)%4)
	}
	return "\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01" + number("version", 28) + named + number("state", state) + number("txg", txg) + number("pool_guid", 7) + isLog
}

// The labels that a pool has left are known by its name and by what it was when they were written.
func TestOnlyLabelsOfAPoolThatIsGoneAreMadeZero(t *testing.T) {
	box := disks(t)
	i := aDisk(t, box, "labels", 41)
	used, err := looked(t, doer(t), spec.Disk{Path: i.loop})
	if err != nil {
		t.Fatal(err)
	}
	const destroyed, active, exported, cache = 2, 0, 1, 4
	end := i.bytes &^ (256<<10 - 1)
	at := []int64{0, 256 << 10, end - 512<<10, end - 256<<10}
	pool, removed := used.BlankPool("tank.a"), used.BlankRemoved("tank.a")
	for name, c := range map[string]struct {
		labels []string
		gone   bool
		blank  change.Op
	}{
		"an offline log":     {[]string{aLabel("tank.a", active, 9, 1), aLabel("tank.a", active, 9, 1)}, true, removed},
		"a log of the pool":  {[]string{aLabel("tank.a", active, 9, 1)}, false, pool},
		"a log of another's": {[]string{aLabel("tank", active, 9, 1)}, false, removed},
		"data":               {[]string{aLabel("tank.a", active, 9, 0)}, false, removed},
		"destroyed":          {[]string{aLabel("tank.a", destroyed, 9), aLabel("tank.a", destroyed, 9), aLabel("tank.a", destroyed, 9), aLabel("tank.a", destroyed, 9)}, true, pool},
		"the head zero":      {[]string{"", "", aLabel("tank.a", destroyed, 9), aLabel("tank.a", destroyed, 9)}, true, pool},
		"removed":            {[]string{aLabel("tank.a", active, 0), aLabel("tank.a", active, 0)}, true, pool},
		"a cache":            {[]string{aLabel("", cache, 9)}, true, pool},
		"active":             {[]string{aLabel("tank.a", active, 9)}, false, pool},
		"exported":           {[]string{aLabel("tank.a", exported, 9)}, false, pool},
		"another's":          {[]string{aLabel("tank", destroyed, 9)}, false, pool},
		"another's name":     {[]string{aLabel("tankxa", destroyed, 9)}, false, pool},
		"one of another's":   {[]string{aLabel("tank.a", destroyed, 9), "", "", aLabel("data", active, 10)}, false, pool},
		"no label, but this": {[]string{"theirs"}, false, pool},
	} {
		sh(t, `head -c "$2" /dev/zero >"$1"; sync "$1"`, i.loop, fmt.Sprint(i.bytes))
		f, err := os.OpenFile(i.loop, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		for n, text := range c.labels {
			writeLabel(t, f, text, at[n])
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		was := i.sum(t)
		out, err := run(c.blank)
		if (err == nil) != c.gone {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if !c.gone && i.sum(t) != was {
			t.Errorf("%s: it was written to", name)
		}
		if c.gone {
			sh(t, `cmp -n "$2" "$1" /dev/zero`, i.loop, fmt.Sprint(i.bytes))
		}
	}
}

func TestWhatIsWantedOfADisk(t *testing.T) {
	empty := Disk{Spec: spec.Disk{Path: "/dev/disk/by-id/x"}, Size: 1000 << 20, Serial: "S1", Identity: "sdb/serial"}
	for want, change := range map[string]func(*Disk){
		"": func(*Disk) {},
		"has the serial number S1, but the spec names S2": func(d *Disk) { d.Spec.Serial = "S2" },
		"does not report a serial number":                 func(d *Disk) { d.Spec.Serial, d.Serial = "S1", "" },
		"has 1000M (1048576000 bytes), but":               func(d *Disk) { d.Spec.Size = 1020 << 20 },
		"but the spec says 980M":                          func(d *Disk) { d.Spec.Size = 980 << 20 },
		"is in memory: its contents are gone":             func(d *Disk) { d.Name = "zram0" },
		"nothing by which it can be recognised":           func(d *Disk) { d.Identity = "" },
		"is not empty: XFS":                               func(d *Disk) { d.On = []string{"XFS"} },
		"is not empty: LVM":                               func(d *Disk) { d.On, d.Spec.Erase, d.Serial = []string{"LVM"}, "S2", "S1" },
		"is in use: sdb is mounted at /":                  func(d *Disk) { d.Users, d.Spec.Erase = []string{"sdb is mounted at /"}, "S1" },
	} {
		d := empty
		change(&d)
		err := Refuse(d)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, d := range []Disk{{Spec: spec.Disk{Size: 1 << 30}, Size: 1<<30 + 5<<20, Identity: "x"}, {Spec: spec.Disk{Erase: "S", Serial: "S"}, Serial: "S", On: []string{"XFS"}, Identity: "x"}, {File: true}} {
		if err := Refuse(d); err != nil {
			t.Error(err)
		}
	}
}

// A file for a trial is made, and never one that is there.
func TestAFileIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	d := doer(t)
	if got, err := looked(t, d, spec.Disk{Path: dir + "/new", Size: 64 << 20}); err != nil || !got.File || Refuse(got) != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.Symlink("/etc/passwd", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]spec.Disk{
		"already exists": {Path: dir + "/link", Size: 64 << 20}, "is not a directory": {Path: dir + "/none/x", Size: 64 << 20},
		"bytes free": {Path: dir + "/big", Size: 1 << 59}, "is not a disk": {Path: "/dev/null"}, "is not there": {Path: "/dev/disk/by-id/none"},
	} {
		if _, err := looked(t, d, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
