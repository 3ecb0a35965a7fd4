package replicate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"plumb/internal/btrfs"
	"plumb/internal/hint"
	"plumb/internal/protect"
)

// What another host tells of a point is not believed: whoever has the key can tell anything. It says where in a copy
// the server's directories lie and what its data needs; which snapshots are meant, which program is run and as
// whom is found here.

var (
	kindName    = regexp.MustCompile(`^[a-z]{1,20}$`)
	versionName = regexp.MustCompile(`^[0-9][0-9A-Za-z.+~-]{0,60}$`)
	settingName = regexp.MustCompile(`^[A-Za-z0-9_.:]{1,100}$`)
)

const (
	mostParts  = 200 // members, directories and settings of a point
	mostDoubts = 50
	longestSay = 4 << 10 // bytes of a setting or name
)

// hearZFS reads what is told of a point on ZFS, and refuses what no Plumb tells.
func hearZFS(in io.Reader, id string) (protect.Point, error) { return hear(in, id, "ZFS", ofZFS) }

// HearAny reads what a backup tells of a point, whose snapshots are of ZFS or btrfs.
func HearAny(in io.Reader, id string) (protect.Point, error) {
	return hear(in, id, "ZFS or btrfs", func(m protect.Member) bool {
		if m.Storage == "btrfs" {
			return ofBtrfs(m)
		}
		return ofZFS(m)
	})
}

// ofZFS tells whether the snapshot of a member can be one of ZFS.
func ofZFS(m protect.Member) bool {
	name, _, _ := strings.Cut(m.Snapshot, "@")
	return plain.MatchString(name) && isOurs("a/"+name) && number.MatchString(m.GUID)
}

// ofBtrfs tells whether it can be one of btrfs. Its path says nothing here: it is found by its UUID.
func ofBtrfs(m protect.Member) bool {
	return said(m.Snapshot) && btrfs.IsUUID(m.GUID)
}

func hear(in io.Reader, id, of string, snapshot func(protect.Member) bool) (p protect.Point, err error) {
	text, err := io.ReadAll(io.LimitReader(in, mostPoint+1))
	if err != nil {
		return p, err
	}
	if len(text) > mostPoint {
		return p, errors.New("the description of the point is too long")
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("read the description of the point: %w", err)
	}
	if p.ID != id || !pointID.MatchString(id) || p.Form < 1 || p.Form > protect.Form {
		return p, fmt.Errorf("the description is not of point %s, or was written by a newer Plumb", id)
	}
	p = Told(p)
	if err := odd(p, of, snapshot); err != nil {
		return p, fmt.Errorf("the description of point %s is refused: %w", id, err)
	}
	return p, nil
}

// odd says what of a point no Plumb tells, or cannot be mounted elsewhere.
func odd(p protect.Point, of string, snapshot func(protect.Member) bool) error {
	sv := p.Server
	switch {
	case !kindName.MatchString(sv.Ref.Kind) || !kindName.MatchString(sv.Flavor) || !versionName.MatchString(sv.Version) || !said(sv.Ref.Name) || !said(sv.Product) || !said(sv.Identity):
		return errors.New("it names no server")
	case len(p.Members) == 0 || len(p.Members) > mostParts || len(sv.Dirs) > mostParts || len(sv.Settings) > mostParts:
		return errors.New("it has no parts, or too many")
	}
	for _, d := range sv.Dirs {
		if !place(d.Path) || d.Link != "" && !place("/"+d.Link) {
			return fmt.Errorf("%q is not the path of a directory", d.Path)
		}
	}
	for _, m := range p.Members {
		switch dataset, _, _ := strings.Cut(m.Snapshot, "@"); {
		case m.Mountpoint == "/":
			return hint.With(fmt.Errorf("%q was mounted at /, so it has the whole system in it", dataset), "restore --into without --to and --start restores it as it is; give the server's data a dataset of its own for the next point")
		case m.Storage != "btrfs" && !plain.MatchString(dataset):
			return hint.With(fmt.Errorf("the name of %q has other characters than letters, digits and _.:-", dataset), "restore --into without --to and --start restores it as it is; zfs rename gives the dataset another name for the next point")
		case !place(m.Mountpoint) || m.Within != "" && !place("/"+m.Within) || !snapshot(m):
			return fmt.Errorf("%q on %q is not a snapshot of %s", m.Snapshot, m.Mountpoint, of)
		}
	}
	for name, value := range sv.Settings {
		if !settingName.MatchString(name) || !said(value) {
			return fmt.Errorf("%q is not a setting", name)
		}
	}
	for name, text := range p.Files {
		if name != "data/backup_label" && name != "data/tablespace_map" || len(text) > 64<<10 || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%q is not a file that a copy needs", name)
		}
	}
	return nil
}

// place tells whether a name can be that of a directory in a copy: whole, and leading nowhere else.
func place(name string) bool {
	return path.IsAbs(name) && path.Clean(name) == name && name != "/" && said(name)
}

// said tells whether a text can stand in a line.
func said(text string) bool {
	return len(text) <= longestSay && !strings.ContainsFunc(text, unsaid)
}

func unsaid(r rune) bool { return r < ' ' || r == 0x7f }
