package host

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Changeable says who else can change the file, "" for nobody but root and
// ourselves. It means this machine's file, not one on a tape.
func (s Stat) Changeable() string {
	switch {
	case s.UID != 0 && int(s.UID) != os.Geteuid():
		return fmt.Sprintf("belongs to user %d", s.UID)
	case s.Mode.Perm()&0o002 != 0:
		return "can be written by everybody"
	case s.Mode.Perm()&0o020 != 0 && os.Geteuid() == 0:
		return fmt.Sprintf("can be written by group %d", s.GID)
	}
	return ""
}

// OnlyOurs gives the path of a directory without links, and an error when root
// asks for one in which, or above which, another user can rename things: who can
// puts a link in the place of what root makes there.
func OnlyOurs(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || os.Geteuid() != 0 {
		return real, err
	}
	at, err := changeable(real)
	if err == nil && at != "" {
		err = fmt.Errorf("other users can change %s: %w", at, ErrDenied)
	}
	return real, err
}

// changeable gives the path itself or what lies above it that another user
// than root and us can change; "" for none. In a sticky directory such as /tmp
// only an entry's owner can replace it.
func changeable(name string) (string, error) {
	for at := name; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return "", err
		}
		if st.Uid != 0 && int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return at, nil
		}
		if at == "/" {
			return "", nil
		}
	}
}
