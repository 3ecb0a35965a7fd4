package vm

import (
	_ "embed" // the script
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/test/sandbox"
)

//go:embed guest/disks.sh
var disksScript string

// TestDisks has the traps for disks that a machine without md, LVM and serial numbers cannot set, and
// makes pools and filesystems of whole disks.
func TestDisks(t *testing.T) {
	for _, release := range Releases() {
		t.Run(release, func(t *testing.T) {
			if release == Bookworm {
				sandbox.NeedFull(t, "the same again with an older OpenZFS: make test-real FULL=1 does it")
			}
			m, dir := Open(t, release), t.TempDir()
			program := filepath.Join(dir, "disks")
			build := exec.Command("go", "build", "-o", program, "plumb/test/disks")
			build.Env = append(build.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			const mega = 1 << 20
			disks := []Disk{{Name: "luks", File: prepared(t, dir, "luks", `echo password | cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 "$1" -`)},
				{Name: "gpt", File: prepared(t, dir, "gpt", `printf 'label: gpt\nsize=20M\n' | sfdisk -q "$1"`)}}
			for _, name := range strings.Fields("empty ma mb lvm swap") {
				disks = append(disks, Disk{Name: name, Bytes: 40 * mega})
			}
			for _, name := range strings.Fields("zfs a b sa sb la lb c") {
				disks = append(disks, Disk{Name: name, Bytes: 100 * mega})
			}
			r := m.Do(t, Script{In: []string{program}, Out: t.TempDir(), Disks: disks, Line: disksScript, Deadline: 40 * time.Minute})
			said(t, r, release)
		})
	}
}

// prepared is a disk that a program of this machine made.
func prepared(t *testing.T, dir, name, script string) string {
	t.Helper()
	for program, of := range map[string]string{"sfdisk": "fdisk", "cryptsetup": "cryptsetup-bin"} {
		if _, err := exec.LookPath(program); err != nil {
			sandbox.Need(t, sandbox.Missing{What: "no " + program, Hint: "apt-get install " + of})
		}
	}
	file := filepath.Join(dir, name+".img")
	if out, err := exec.Command("sh", "-ec", `truncate -s 40M "$1"; `+script, "sh", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return file
}

func said(t *testing.T, r Result, release string) {
	t.Helper()
	text := string(r.Output)
	t.Logf("booted in %v, all took %v\n%s", r.Boot, r.Took, text)
	for _, wrong := range []string{"TAKEN ", "SAYS ", "WRITTEN "} {
		if strings.Contains(text, wrong) {
			t.Errorf("there is %s", lineOf(text, wrong))
		}
	}
	if n := strings.Count(text, "\ntrap: "); n != 22 {
		t.Errorf("%d traps were refused, want 22", n)
	}
	line := map[string]string{Bookworm: "2.1", Trixie: "2.3"}[release]
	for _, want := range []string{`serial "empty" from`, `serial "LVM-X" from`, "\nashift\t12\n", "\ncompatibility\topenzfs-" + line, "\nautotrim\ton\n", "\nkeyformat\traw\n", "\nrecordsize\t16K\nmounted\tyes\n",
		"what is on /dev/disk/by-id/virtio-b (serial b) is lost: ext2, ext3 or ext4", "\nExecStartPre=-/usr/sbin/zfs load-key -r tank\n", "\nowner: mysql:mysql 700\n", "\nagain: acts: 0\n", "\nundo: well\n", "\nzero: a b sa sb la lb c \n", "\nleft: \n", "\nchange: 2\n",
		"\nkept: 1 on /srv/db no\n", "\nkept: 1 noauto /srv/db no\n", "\ngone: \n",
		"stride:", "nofail,noatime 0 2\n", "Permission denied", "\nundone: \n", "\nend\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}
