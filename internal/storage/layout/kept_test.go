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
	op := script(isEmpty, f.Device.Path, f.Type)
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

// A dataset that is not mounted may hold something, whatever its properties say: it is looked into. What cannot be seen is kept.
func TestWhatIsNotSeenIsKept(t *testing.T) {
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	for name, text := range map[string]string{"zfs": `case "$*" in
"get -H -o value mounted "*) echo no ;;
"get -H -o value canmount "*) echo "$CANMOUNT" ;;
"get -H -o value org.plumb:empty "*) echo yes ;;
"list "*) for name; do :; done; echo "$name" ;;
"set mountpoint=/tmp"*) at=${2#*=}; echo "$at" >"$LOG.at" ;;
"mount "*) [ "$HOLDS" != unseen ] || exit 1; [ -z "$HOLDS" ] || : >"$(cat "$LOG.at")/$HOLDS" ;;
"unmount "*) find "$(cat "$LOG.at")" -mindepth 1 -delete ;;
destroy*) echo "$@" >>"$LOG" ;;
esac`, "zpool": `echo "$@" >>"$LOG"`, "findmnt": `[ "$HOLDS" = unseen ] || echo "$NAME"`} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	parent := dataset("tank/db", map[string]string{"canmount": "off", "mountpoint": "none"}).Make.Undo[0]
	data := dataset("tank/db/data", map[string]string{"canmount": "noauto", "mountpoint": "/srv/data"}).Make.Undo[0]
	for _, c := range []struct {
		op             change.Op
		name, canmount string
	}{{script(destroyPool, "tank"), "tank", "off"}, {parent, "tank/db", "off"}, {data, "tank/db/data", "noauto"}} {
		for _, holds := range []string{"", "ibdata1", "unseen"} {
			os.Remove(log)
			cmd := exec.Command(c.op.Argv[0], c.op.Argv[1:]...)
			cmd.Env = append(os.Environ(), "TMPDIR=/tmp", "PATH="+bin+":"+os.Getenv("PATH"), "NAME="+c.name, "CANMOUNT="+c.canmount, "HOLDS="+holds, "LOG="+log)
			out, err := cmd.CombinedOutput()
			text, _ := os.ReadFile(log)
			if gone := strings.Contains(string(text), "destroy"); gone != (holds == "") || (err == nil) != gone {
				t.Errorf("%s that holds %q: destroyed %v, %v: %s", c.name, holds, gone, err, out)
			}
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
