package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision/spec"
)

// twoPaths is a machine with two devices that say of themselves what is given, by file. The second has a partition, which is mounted.
func twoPaths(a, b map[string]string) hosttest.Map {
	h := hosttest.Map{Files: map[string]string{"/proc/self/mountinfo": "22 1 8:17 / / rw - ext4 /dev/sdb1 rw\n"}, Links: map[string]string{}, Stats: map[string]host.Stat{}, Outputs: map[string]string{}}
	for i, says := range []map[string]string{a, b} {
		name, number := string("ab"[i]), fmt.Sprintf("8:%d", 16*i)
		dir := "/sys/class/block/sd" + name
		h.Files[dir+"/dev"], h.Files[dir+"/size"] = number+"\n", "204800\n"
		h.Links["/sys/dev/block/"+number] = "../../devices/block/sd" + name
		h.Stats["/dev/disk/by-id/"+name] = host.Stat{Mode: fs.ModeDevice, RdevMajor: 8, RdevMinor: uint32(16 * i), Resolved: "/dev/sd" + name}
		for file, text := range says {
			h.Files[dir+"/"+file] = text
		}
		for _, p := range (Disk{Size: 100 << 20}).parts() {
			h.Outputs[fmt.Sprintf("cmp -n %d -i 0:%d /dev/zero /dev/sd%s", p.bytes, p.at, name)] = ""
		}
	}
	h.Files["/sys/class/block/sdb/sdb1/partition"], h.Files["/sys/class/block/sdb1/partition"], h.Files["/sys/class/block/sdb1/dev"] = "1\n", "1\n", "8:17\n"
	return h
}

// A disk that two paths lead to, as those of a storage network do, is in use when either is; and it is one disk of a pool. Who tells less is
// taken for the same only where all that is told is the same.
func TestADiskByAnotherPath(t *testing.T) {
	const page = "\x00\x80\x00\x04LUN7"
	for name, c := range map[string]struct {
		a, b map[string]string
		same bool
	}{
		"one by its WWID":             {map[string]string{"device/wwid": "naa.600a\n"}, map[string]string{"device/wwid": "naa.600a\n"}, true},
		"one by its serial number":    {map[string]string{"device/vpd_pg80": page}, map[string]string{"device/vpd_pg80": page}, true},
		"two of an array":             {map[string]string{"device/vpd_pg80": page, "device/wwid": "naa.1\n"}, map[string]string{"device/vpd_pg80": page, "device/wwid": "naa.2\n"}, false},
		"two of other sizes":          {map[string]string{"serial": "S1\n"}, map[string]string{"serial": "S1\n", "size": "409600\n"}, false},
		"two that tell nothing":       {map[string]string{"diskseq": "1\n"}, map[string]string{"diskseq": "2\n"}, false},
		"two of other serial numbers": {map[string]string{"serial": "S1\n"}, map[string]string{"serial": "S2\n"}, false},
	} {
		h := twoPaths(c.a, c.b)
		a, err := Look(t.Context(), h, spec.Disk{Path: "/dev/disk/by-id/a"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := Refuse(a); (err != nil) != c.same || c.same && (!strings.Contains(err.Error(), "sdb1 is mounted at /") || !strings.Contains(err.Error(), "by another path")) {
			t.Errorf("%s: %v", name, err)
		}
		for _, file := range []string{"/sys/class/block/sdb/sdb1/partition", "/sys/class/block/sdb1/partition", "/sys/class/block/sdb1/dev"} {
			delete(h.Files, file)
		}
		b, err := Look(t.Context(), h, spec.Disk{Path: "/dev/disk/by-id/b"})
		if c.b["size"] != "" { // its end is elsewhere
			continue
		}
		if err != nil || Same(a, b) != c.same || !Same(a, a) {
			t.Errorf("%s: the same disk: %v, %v", name, Same(a, b), err)
		}
	}
}

// A namespace of mounts counts as seen only once its table was read.
func TestMountsOfOthers(t *testing.T) {
	const mounted = "22 1 8:0 / /srv rw - ext4 /dev/sda rw\n"
	others := func(tables map[string]string) hosttest.Map {
		h := twoPaths(map[string]string{"serial": "S1\n"}, map[string]string{"serial": "S2\n"})
		h.Errors = map[string]error{}
		for pid, text := range tables {
			h.Links["/proc/"+pid+"/ns/mnt"] = "mnt:[7]"
			h.Files["/proc/"+pid+"/mountinfo"] = text
		}
		return h
	}
	look := func(h hosttest.Map) (Disk, error) { return Look(t.Context(), h, spec.Disk{Path: "/dev/disk/by-id/a"}) }

	h := others(map[string]string{"5": mounted})
	if d, err := look(h); err != nil || Refuse(d) == nil || !strings.Contains(Refuse(d).Error(), "sda is mounted at /srv") {
		t.Errorf("mounted in a container: %+v, %v", d, err)
	}
	h = others(map[string]string{"5": "", "6": mounted})
	h.Errors["file /proc/5/mountinfo"] = host.ErrTooLarge
	if _, err := look(h); !errors.Is(err, host.ErrTooLarge) {
		t.Errorf("a table that cannot be read: %v", err)
	}
}

// In a container a disk may be called anything. Who has it open, or a loop device on it, by another name than the kernel's uses it too.
func TestADiskIsInUseByAnyName(t *testing.T) {
	box := disks(t)
	d := doer(t)
	users := func(i image) string {
		t.Helper()
		got, err := looked(t, d, spec.Disk{Path: i.loop})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(got.Users, ", ")
	}
	named := func(i image, node string) {
		t.Helper()
		if out, err := exec.Command("sh", "-ec", `mknod -m 600 "$2" b $(stat -c '0x%t 0x%T' "$1")`, "sh", i.loop, node).CombinedOutput(); err != nil {
			t.Skipf("no device can be named here: %s", out)
		}
		t.Cleanup(func() { os.Remove(node) })
	}
	i := aDisk(t, box, "open", 40)
	node := "/dev/" + filepath.Base(box.Dir) + "-data"
	named(i, node)
	f, err := os.Open(node)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := users(i), fmt.Sprintf("is open in process %d", os.Getpid()); !strings.Contains(got, want) || !strings.Contains(got, " as "+node) {
		t.Errorf("users: %q, want %q", got, want)
	}
	if err := f.Close(); err != nil || users(i) != "" {
		t.Errorf("closed again: %q, %v", users(i), err)
	}

	i = aDisk(t, box, "behind", 40)
	node = filepath.Join(box.Dir, "data")
	named(i, node)
	out, err := exec.Command("losetup", "--find", "--show", "--read-only", node).CombinedOutput()
	if err != nil {
		t.Skipf("no device is opened where tests have their files: %s", out)
	}
	loop := strings.TrimSpace(string(out))
	defer sh(t, `losetup -d "$1"`, loop)
	if got, want := users(i), "is behind "+filepath.Base(loop); !strings.Contains(got, want) {
		t.Errorf("users: %q, want %q", got, want)
	}
}
