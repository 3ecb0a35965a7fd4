package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Changeable says who else can change the file, "" for nobody but root and
// ourselves. It means this machine's file, not one on a tape.
func (s Stat) Changeable() string {
	if os.Geteuid() == 0 {
		return s.changeable(0o022)
	}
	return s.changeable(0o002)
}

// changeable says who else can change the file, where these rights to write count.
func (s Stat) changeable(rights fs.FileMode) string {
	switch rights &= s.Mode; {
	case s.UID != 0 && int(s.UID) != os.Geteuid():
		return fmt.Sprintf("belongs to user %d", s.UID)
	case rights&0o002 != 0:
		return "can be written by everybody"
	case rights&0o020 != 0:
		return fmt.Sprintf("can be written by group %d", s.GID)
	}
	return ""
}

// Replaceable walks up from a path without links, and gives the first place that another user than root and us can change,
// and how; "" for none. Who can puts a link in the place of what is made there. In a sticky directory such as /tmp only an
// entry's owner can: what is made there, and stays ours, is safe.
func Replaceable(name string, stat func(string) (Stat, error)) (at, how string, err error) {
	for at = name; ; at = filepath.Dir(at) {
		st, err := stat(at)
		if err != nil {
			return "", "", err
		}
		rights := fs.FileMode(0o022)
		if !st.Mode.IsDir() || st.Mode&fs.ModeSticky != 0 {
			rights = 0
		}
		if how = st.changeable(rights); how != "" {
			return at, how, nil
		}
		if at == "/" {
			return "", "", nil
		}
	}
}
