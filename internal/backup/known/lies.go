package known

import (
	"context"
	"path"
	"strings"

	"plumb/internal/backup/store"
	"plumb/internal/host"
	"plumb/internal/observe"
)

// Lies is where a place is, as far as that was seen when it was written to.
type Lies struct {
	Directory string `json:"directory,omitempty"` // without links
	Mount     string `json:"mount,omitempty"`     // where the filesystem is mounted that holds it
	Type      string `json:"type,omitempty"`      // of that
	Source    string `json:"source,omitempty"`    // what is mounted there
	Site      string `json:"site,omitempty"`      // of a bucket: what is lost together
	Login     string `json:"login,omitempty"`     // of a bucket: tells logins apart, and does not tell which it is
}

// Here is the site of what lies on disks of this machine.
const Here = "this machine"

// Find looks where a store lies. What cannot be seen stays empty: it is unknown, and no reason to fail.
func Find(ctx context.Context, h host.Reader, s store.Store) Lies {
	if at, is := store.AsPlaced(s); is {
		w := at.Where(ctx)
		return Lies{Site: w.Site, Login: w.Login}
	}
	dir, is := strings.CutPrefix(s.URL(), "file://")
	if !is {
		return Lies{}
	}
	st, err := h.Stat(ctx, dir)
	if err != nil {
		return Lies{}
	}
	resolved := path.Clean(dir)
	if st.Resolved != "" {
		resolved = st.Resolved
	}
	l := Lies{Directory: resolved}
	if m, is := Holds(ctx, h, resolved); is {
		l.Mount, l.Type, l.Source = m.Point, m.Type, m.Source
	}
	return l
}

// Holds finds the mount that holds a directory whose path has no links. It asks the table of mounts alone: a file server
// that is gone is not waited for.
func Holds(ctx context.Context, h host.Reader, dir string) (found observe.Mount, is bool) {
	all, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return found, false
	}
	return observe.Holding(all, dir)
}

// remote are filesystems whose disks are in another machine.
var remote = []string{"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "afs", "ceph", "fuse.ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "lustre", "beegfs", "gpfs", "fuse.moosefs"}

// Where names what would be lost together with the place; "" when it is not known.
func (l Lies) Where() string {
	if l.Type == "" {
		return l.Site
	}
	for _, one := range remote {
		if l.Type == one {
			return "the file server " + server(l)
		}
	}
	if strings.HasPrefix(l.Type, "fuse.") && l.Type != "fuse.zfs" || l.Type == "fuse" {
		return "" // a program that can keep it anywhere
	}
	return Here
}

// server gives the name of a file server: of host:/path, user@host:/path and //host/share.
func server(l Lies) string {
	if rest, is := strings.CutPrefix(l.Source, "//"); is {
		name, _, _ := strings.Cut(rest, "/")
		return name
	}
	name, _, is := strings.Cut(l.Source, ":/")
	if !is {
		return "behind " + l.Source
	}
	if _, rest, is := strings.Cut(name, "@"); is {
		name = rest
	}
	return strings.Trim(name, "[]")
}
