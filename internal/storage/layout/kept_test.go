package layout

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/mounts"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/test/sandbox"
)

// A btrfs is empty when all its subvolumes are, not when the one is that is mounted without a word.
func TestOtherSubvolumesAreKept(t *testing.T) {
	if _, err := exec.LookPath("mkfs.btrfs"); err != nil {
		sandbox.Need(t, sandbox.Missing{What: "no mkfs.btrfs", Hint: "apt-get install btrfs-progs"})
	}
	x := newBox(t)
	f, at := spec.Filesystem{Type: "btrfs", Device: x.disk("kept", 130)}, filepath.Join(x.Dir, "mnt")
	x.sh(`mkfs.btrfs -q "$1"; mkdir "$2"; mount "$1" "$2"; printf theirs >"$2/file"; btrfs subvolume create "$2/empty" >/dev/null; btrfs subvolume set-default "$2/empty"; umount "$2"`, f.Device.Path, at)
	op := isEmpty(f.Device.Path, f.Type)
	if out, err := exec.Command(op.Argv[0], op.Argv[1:]...).CombinedOutput(); err == nil {
		t.Errorf("what is not in the subvolume of the mount counts as nothing: %s", out)
	}
}

// A pool that is not imported has its name too.
func TestThePoolThatIsNotImportedKeepsItsName(t *testing.T) {
	bin := t.TempDir()
	const says = "#!/bin/sh\nprintf '   pool: tank-old\\n     id: 1\\n  state: ONLINE\\n   pool: other\\n'\n"
	if err := os.WriteFile(filepath.Join(bin, "zpool"), []byte(says), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, free := range map[string]bool{"tank": true, "tank-old": false, "other": false, "othe.": true} {
		op := script(unknownPool, name)
		cmd := exec.Command(op.Argv[0], op.Argv[1:]...)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); (err == nil) != free {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// What somebody has put into a place since the plan was made is not hidden by a mount.
func TestNothingIsHidden(t *testing.T) {
	at, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"mount", "zfs"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho mounted\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	uuid := newUUID()
	disk := filepath.Join(bin, "disk") // as one on which it was made
	if err := os.WriteFile(disk, append(make([]byte, mounts.UUIDAt["ext4"]), raw(t, uuid)...), 0o600); err != nil {
		t.Fatal(err)
	}
	ops := []change.Op{mount(spec.Filesystem{Type: "ext4", Device: spec.Disk{Path: disk}}, uuid, at, "rw").Switch.Do[0], mountDataset(tools{}, "tank/db", at).Switch.Do[0]}
	for _, file := range []string{"", filepath.Join(at, ".theirs")} {
		if file != "" {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, op := range ops {
			c := exec.Command(op.Argv[0], op.Argv[1:]...)
			c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			out, err := c.CombinedOutput()
			if hidden := strings.Contains(string(out), "mounted\n"); hidden != (file == "") || (err == nil) != (file == "") {
				t.Errorf("with %q there: %v: %s", file, err, out)
			}
		}
	}
}

// raw gives the bytes of a UUID.
func raw(t *testing.T, uuid string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(uuid, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A link that leads to another disk once the proof is made, as that of two disks with one serial number may, has mkfs overwrite nothing
// there, and mounts nothing of it.
func TestTheLinkThatTurnsOverwritesNothing(t *testing.T) {
	x := newBox(t)
	ours, theirs, link := x.disk("ours", 130), x.disk("theirs", 130), "/dev/"+filepath.Base(x.Dir)+"-link"
	turn := func(to spec.Disk) {
		t.Helper()
		x.sh(`ln -sfn "$1" "$2"`, to.Path, link)
	}
	turn(ours)
	t.Cleanup(func() { os.Remove(link) })
	x.sh(`mkfs.ext4 -q -L theirs "$1"`, theirs.Path)
	for _, kind := range spec.Filesystems() {
		if _, err := exec.LookPath("mkfs." + kind); err != nil {
			continue
		}
		turn(ours)
		m := x.acts(func(h host.Reader) (provision.Making, error) {
			return x.lay.Filesystem(t.Context(), h, spec.Filesystem{Type: kind, Device: spec.Disk{Path: link}}, filepath.Join(x.Dir, "mnt"), provision.Birth{})
		})
		i := slices.IndexFunc(m.Acts, func(a change.Act) bool { return a.Make != nil && len(a.Make.Do) > 1 })
		for _, op := range m.Acts[i].Make.Do {
			_, _ = exec.Command(op.Argv[0], op.Argv[1:]...).CombinedOutput() // xfs wants more room
			turn(theirs)
		}
		op := m.Acts[i+1].Switch.Do[0]
		if out, err := exec.Command(op.Argv[0], op.Argv[1:]...).CombinedOutput(); err == nil || !strings.Contains(string(out), "leads to another filesystem") {
			t.Errorf("mkfs.%s: the other disk is mounted: %v: %s", kind, err, out)
		}
		if label := x.sh(`e2label "$1"`, theirs.Path); label != "theirs\n" {
			t.Errorf("mkfs.%s: the other disk is called %q", kind, label)
		}
		if x.sh(`wipefs -p "$1"`, ours.Path) == "" && kind != "xfs" {
			t.Errorf("mkfs.%s made nothing", kind)
		}
		x.sh(`wipefs -a -q "$1"; head -c 130M /dev/zero >"$1"`, ours.Path)
	}
}
