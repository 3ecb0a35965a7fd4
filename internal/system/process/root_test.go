package process

import (
	"io/fs"
	"testing"

	"plumb/internal/stack"
)

const (
	ourRoot       = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n30 27 0:31 / /tmp rw - tmpfs none rw\n"
	privateTmp    = "527 400 254:0 / / rw,relatime - ext4 /dev/vda rw\n530 527 254:0 /tmp/systemd-private /tmp rw - ext4 /dev/vda rw\n"
	overlayRoot   = "900 800 0:77 / / rw - overlay overlay rw\n"
	directoryRoot = "900 800 254:0 /srv/guest / rw - ext4 /dev/vda rw\n"
	onTop         = "527 400 254:0 / / rw - ext4 /dev/vda rw\n528 527 0:77 / / rw - overlay overlay rw\n"
)

// Mounts of its own put a server into a container no more than a unit of systemd
// does: another root directory does.
func TestOwnRoot(t *testing.T) {
	for name, c := range map[string]struct {
		ns, link, mounts string
		want, known      bool
	}{
		"our own":                     {"mnt:[1]", "/", "", false, true},
		"a chroot":                    {"mnt:[1]", "/srv/guest", "", true, true},
		"a service with PrivateTmp":   {"mnt:[2]", "/", privateTmp, false, true},
		"a container":                 {"mnt:[2]", "/", overlayRoot, true, true},
		"RootDirectory":               {"mnt:[2]", "/", directoryRoot, true, true},
		"a root mounted over another": {"mnt:[2]", "/", onTop, true, true},
		"a chroot in mounts of it":    {"mnt:[2]", "/", "530 527 254:0 /x /tmp rw - ext4 /dev/vda rw\n", true, true},
		"mounts that cannot be read":  {"mnt:[2]", "/", "", false, false},
		"a root that cannot be read":  {"mnt:[1]", "", "", false, false},
	} {
		m := hybridServer()
		m.Links["/proc/self/ns/mnt"], m.Links["/proc/2740/ns/mnt"] = "mnt:[1]", c.ns
		m.Links["/proc/2740/root"] = c.link
		m.Files["/proc/self/mountinfo"] = ourRoot
		m.Errors = map[string]error{}
		if c.link == "" {
			m.Errors["link /proc/2740/root"] = fs.ErrPermission
		}
		if m.Files["/proc/2740/mountinfo"] = c.mounts; c.mounts == "" {
			m.Errors["file /proc/2740/mountinfo"] = fs.ErrPermission
		}
		s := lookAt(t, m)
		ref := stack.Ref{Kind: "process", Name: "2740"}
		got, known := s.Find(ref).Bool("own_root")
		if _, gap := s.GapFor(ref, "own_root"); got != c.want || known != c.known || gap == known {
			t.Errorf("%s: %v, known %v, a gap %v", name, got, known, gap)
		}
	}
}
