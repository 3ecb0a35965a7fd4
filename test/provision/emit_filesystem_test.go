package provision

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/internal/storage/layout"
	"plumb/internal/view/playbook"
	"plumb/test/ansible"
	"plumb/test/sandbox"
)

// disks is a place with a loop device for each filesystem, and an fstab of its own.
type disks struct {
	*testing.T
	dir   string
	loops []string
}

// newDisks plans a filesystem of each kind, with a directory for a server's data in it.
func newDisks(t *testing.T) (disks, playbook.Provisioning) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for loop devices")
	}
	box := sandbox.ForTest(t, "")
	d := disks{T: t, dir: box.Dir}
	sandbox.Need(t, os.Chown(box.Dir, 0, 0)) // a mount point lies where root alone makes things
	lay, live := layout.Layout{Fstab: box.Dir + "/fstab"}, hosttest.LiveDoer(t)
	sandbox.Need(t, os.WriteFile(lay.Fstab, []byte("# ours\n"), 0o644))
	var acts []change.Act
	for _, kind := range spec.Filesystems() {
		loop, err := box.Loop(kind, 320) // xfs takes no less
		sandbox.Need(t, err)
		d.loops = append(d.loops, loop)
		at := filepath.Join(box.Dir, "mnt-"+kind)
		made, err := lay.Filesystem(t.Context(), live, spec.Filesystem{Type: kind, Device: spec.Disk{Path: loop}}, at, provision.Birth{Mount: []string{"noatime"}})
		sandbox.Need(t, err)
		data, err := lay.Volume(t.Context(), live, provision.Volume{Role: "data", At: at + "/data"}, provision.Owner{User: "nobody", Group: "nogroup", Perm: 0o750})
		sandbox.Need(t, err)
		acts = append(append(acts, made.Acts...), data.Acts...)
	}
	box.OnClose(func() error { d.unmake(); return nil }) // while the loop devices are there
	steps := []change.Prepared{provision.Step(stack.Ref{Kind: "filesystem", Name: box.Dir}, "filesystem", acts)}
	p := playbook.Provisioning{Host: "db1", Plan: provision.Plan{Stages: []provision.Stage{{Name: "filesystems", Why: "one of each kind", Steps: steps}}}}
	p.Files = map[string][]byte{lay.Fstab: []byte("# ours\n")}
	return d, p
}

// made tells what is there: filesystems with their UUIDs, mounts, owners and modes, fstab.
func (d disks) made() string {
	d.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", `dir=$1; shift
for l; do blkid -p -o value -s TYPE -s UUID "$l" || echo none; done
findmnt -rn -o TARGET,FSTYPE,OPTIONS | grep -F "$dir/" | sort || :
find "$dir" -name 'lost+found' -prune -o ! -name '*.img' ! -path "$dir" -printf '%P %y %m %U:%G\n' | sort; cat "$dir/fstab"`, "sh", d.dir}, d.loops...)...).CombinedOutput()
	if err != nil {
		d.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// unmake removes all of it, as nothing of Plumb's would.
func (d disks) unmake() {
	d.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", `dir=$1; shift
for m in "$dir"/mnt-*; do
	[ -e "$m" ] || continue
	! mountpoint -q "$m" || umount "$m"
	chattr -i "$m" 2>/dev/null || :
	rmdir "$m"
done
for l; do blkdiscard -f "$l"; done
echo "# ours" >"$dir/fstab"`, "sh", d.dir}, d.loops...)...).CombinedOutput()
	if err != nil {
		d.Errorf("%v: %s", err, out)
	}
}

// TestPlaybookMakesFilesystems has Ansible itself play what is emitted for ext4, XFS and btrfs, with --check and twice: it makes what
// the script makes, and each finds nothing to do where the other has been.
func TestPlaybookMakesFilesystems(t *testing.T) {
	sandbox.NeedTime(t, "makes filesystems by playbook: PLUMB_REAL=1 go test ./test/provision -run PlaybookMakesFilesystems")
	d, p := newDisks(t)
	text, err := p.Ansible()
	sandbox.Need(t, err)
	script, err := p.Shell()
	sandbox.Need(t, err)
	file := filepath.Join(t.TempDir(), "filesystems.sh")
	sandbox.Need(t, os.WriteFile(file, []byte(script), 0o600))
	apply := func() string {
		t.Helper()
		out, err := exec.Command("sh", file, "apply").CombinedOutput()
		if err != nil {
			t.Fatalf("the script ends with %v:\n%s", err, out)
		}
		return string(out)
	}
	book := ansible.New(t, text)
	play := func(more ...string) string {
		t.Helper()
		out, code := book.Play(more...)
		if code != 0 {
			t.Fatalf("%v ends with %d:\n%s", more, code, out)
		}
		return ansible.Changed(out)
	}
	was := d.made()
	would := play("--check")
	if now := d.made(); now != was {
		t.Errorf("--check left\n%s\nin place of\n%s", now, was)
	}
	apply()
	want := d.made()
	for _, kind := range spec.Filesystems() {
		if !strings.Contains(want, kind+"\n") || !strings.Contains(want, "mnt-"+kind+" "+kind+" rw,noatime") || !strings.Contains(want, "mnt-"+kind+"/data d 750 65534:65534") {
			t.Errorf("of %s the script makes\n%s", kind, want)
		}
	}
	if again := play(); again != "0" {
		t.Errorf("where the script has been, the playbook changes %s", again)
	}
	d.unmake()
	if now := d.made(); now != was {
		t.Fatalf("what the script made was not removed: there is\n%s\nin place of\n%s", now, was)
	}
	if did := play(); did != would || did == "0" {
		t.Errorf("--check would change %s, and %s were changed", would, did)
	}
	if got := d.made(); got != want {
		t.Errorf("the playbook makes\n%s\nand the script\n%s", got, want)
	}
	if out := apply(); strings.Contains(out, "changing: ") {
		t.Errorf("where the playbook has been, the script says\n%s", out)
	}
}
