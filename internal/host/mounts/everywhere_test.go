package mounts

import (
	"errors"
	"slices"
	"testing"

	"github.com/moby/sys/mountinfo"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// Who has a filesystem mounted is told for each namespace once. One that cannot be read though its process is there is an error, and one
// whose process has ended is asked for by the next.
func TestHolders(t *testing.T) {
	const ours, theirs = "22 1 8:0 / / rw - ext4 /dev/sda rw\n", "31 1 8:16 / /srv rw - xfs /dev/sdb rw\n"
	h := hosttest.Map{
		Files: map[string]string{"/proc/self/mountinfo": ours, "/proc/1/mountinfo": ours, "/proc/6/mountinfo": theirs, "/proc/7/mountinfo": theirs, "/proc/8/mountinfo": theirs,
			"/proc/6/comm": "runc\n", "/proc/7/comm": "sleep\n"},
		Links:  map[string]string{"/proc/1/ns/mnt": "mnt:[1]", "/proc/5/ns/mnt": "mnt:[2]", "/proc/6/ns/mnt": "mnt:[2]", "/proc/7/ns/mnt": "mnt:[2]", "/proc/8/ns/mnt": "mnt:[3]"},
		Errors: map[string]error{},
	}
	holders := func() ([]string, error) {
		return Holders(t.Context(), h, func(m *mountinfo.Info) bool { return m.Source == "/dev/sdb" })
	}
	h.Errors["link /proc/5/ns/mnt"] = host.ErrTooLarge // it ended meanwhile
	want := []string{"process 6 runc has it mounted at /srv", "process 8 has it mounted at /srv"}
	if all, err := holders(); err != nil || !slices.Equal(all, want) {
		t.Errorf("%q, %v", all, err)
	}
	delete(h.Errors, "link /proc/5/ns/mnt")
	h.Errors["file /proc/5/mountinfo"] = host.ErrTooLarge
	if _, err := holders(); !errors.Is(err, host.ErrTooLarge) {
		t.Errorf("a table that cannot be read: %v", err)
	}
}
