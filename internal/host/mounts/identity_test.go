package mounts

import (
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// A filesystem is known by what its device says, and what has no UUID by its source.
func TestIdentity(t *testing.T) {
	const uuid = " 01 23 ab cd 45 67 4e f0 81 23 45 67 89 ab cd ef\n"
	h := hosttest.Map{
		Files: map[string]string{"/proc/self/mountinfo": `36 25 0:31 / /my\040state/new rw,relatime shared:1 - zfs tank/a rw,xattr
37 25 8:16 / /srv/a rw - ext4 /dev/sdb rw
38 25 8:32 / /srv/a rw - xfs /dev/sdc rw
39 25 8:48 / /srv/b rw - ext4 /dev/sdb rw
40 25 0:40 /data /srv/c rw - btrfs /dev/sdd rw
41 25 8:80 / /srv/d rw - ext4 /dev/sde rw
`},
		Stats:   map[string]host.Stat{"/dev/sdb": {RdevMajor: 8, RdevMinor: 16}, "/dev/sdc": {RdevMajor: 8, RdevMinor: 32}, "/dev/sdd": {RdevMajor: 8, RdevMinor: 64}, "/dev/sde": {RdevMajor: 8, RdevMinor: 80}},
		Outputs: map[string]string{"od -An -v -tx1 -w128 -j 32 -N 16 /dev/sdc": uuid, "od -An -v -tx1 -w128 -j 65568 -N 16 /dev/sdd": uuid, "od -An -v -tx1 -w128 -j 1128 -N 16 /dev/sde": " 01 23\n"},
	}
	for at, want := range map[string]string{
		"/my state/new": "zfs tank/a", "/srv/a": "xfs 0123abcd-4567-4ef0-8123-456789abcdef", "/srv/c/": "btrfs 0123abcd-4567-4ef0-8123-456789abcdef", "/srv": "",
	} {
		if got, err := Identity(t.Context(), h, at); got != want || err != nil {
			t.Errorf("%s: %q, %v", at, got, err)
		}
	}
	for at, want := range map[string]string{"/srv/b": "/dev/sdb is another device by now", "/srv/d": "/dev/sde gives"} {
		if got, err := Identity(t.Context(), h, at); got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", at, got, err)
		}
	}
}
