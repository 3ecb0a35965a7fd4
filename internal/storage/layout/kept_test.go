package layout

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
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
	ops := []change.Op{mount(spec.Filesystem{Type: "ext4"}, newUUID(), at, "rw").Switch.Do[0], mountDataset(tools{}, "tank/db", at).Switch.Do[0]}
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
