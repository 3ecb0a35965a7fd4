package provision

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// mayDiffer are the logs, the caches, and the state of apt, dpkg and systemd: what is
// not as before when all has been taken away. /etc/NAME- are the copies that useradd
// and userdel keep of what they change, statoverride is empty where it was not there. zfs-fuse mounts its
// figures a moment after it answers.
var mayDiffer = []string{"/var/log/", "/var/cache/", "/var/lib/apt/", "/var/lib/dpkg/", "/var/lib/systemd/", "/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-",
	"/run/", "/tmp/", "/var/lib/plumb", "/zfs-kstat"}

// manifest tells of every file what it is, whose, and what is in it.
func manifest(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("/", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == "/proc" || name == "/dev" || name == "/sys":
			return fs.SkipDir
		case slices.ContainsFunc(mayDiffer, func(p string) bool { return strings.HasPrefix(name, p) }):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		all[name] = fmt.Sprintf("%v of %d:%d", info.Mode(), st.Uid, st.Gid)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			all[name] += " to " + to
			return err
		case info.Mode().IsRegular():
			text, err := os.ReadFile(name)
			all[name] += fmt.Sprintf(" %x", sha256.Sum256(text))
			return err
		}
		return nil
	})
	must(t, err)
	if len(all) < 1000 {
		t.Fatalf("the manifest has only %d files", len(all))
	}
	return all
}

// asBefore wants every file to be as it was.
func asBefore(t *testing.T, before map[string]string) {
	t.Helper()
	after := manifest(t)
	for name, was := range before {
		if now := after[name]; now != was {
			t.Errorf("%s was %s and is %s", name, was, now)
		}
	}
	for name, now := range after {
		if _, was := before[name]; !was {
			t.Errorf("%s was not there and is %s", name, now)
		}
	}
}
