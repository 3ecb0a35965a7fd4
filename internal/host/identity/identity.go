// Package identity tells one file or directory from another of the same path.
package identity

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/host"
)

// What an identity begins with, and what comes before the time of birth in it.
const (
	device = "device "
	inode  = " inode "
	born   = " born "
)

// Of gives the identity of what was looked at.
func Of(st host.Stat) string {
	id := fmt.Sprintf(device+"%d:%d"+inode+"%d", st.DevMajor, st.DevMinor, st.Inode)
	if !st.Born.IsZero() {
		id += born + st.Born.Format(time.RFC3339Nano)
	}
	return id
}

// Is tells whether a text is an identity, and not what a caller has in the place of one.
func Is(id string) bool { return strings.HasPrefix(id, device) }

// Same tells whether two identities are of one file or directory; of other texts, whether they are equal. The number of
// a device may be another after the next start of the machine, on btrfs and ZFS above all: where the time of birth is
// told, it and the inode are enough.
func Same(a, b string) bool { return lasting(a) == lasting(b) }

func lasting(id string) string {
	if _, rest, ok := strings.Cut(id, inode); ok && Is(id) && strings.Contains(rest, born) {
		return rest
	}
	return id
}
