package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Changeable says who other than root and we can change the file; "" for nobody. The file must be of this machine, not of a tape.
func (s Stat) Changeable() string {
	if os.Geteuid() == 0 {
		return s.changeable(0o022)
	}
	return s.changeable(0o002)
}

// changeable is Changeable, where only those permissions count that are in rights.
func (s Stat) changeable(rights fs.FileMode) string {
	switch rights &= s.Mode; {
	case s.UID != 0 && int(s.UID) != os.Geteuid():
		return fmt.Sprintf("belongs to user %d", s.UID)
	case rights&0o002 != 0:
		return "is writable by everybody"
	case rights&0o020 != 0:
		return fmt.Sprintf("is writable by group %d", s.GID)
	}
	return ""
}

// Replaceable walks up from a path, which must have no links in it, and returns the first place that users other than root and we can
// change, and how they can; "" for none. Whoever can change a directory can put a link in the place of what is made there. In a sticky
// directory such as /tmp only the owner of an entry can, so that what we make there is safe.
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
