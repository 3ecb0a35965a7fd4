package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"plumb/internal/hint"
	"plumb/internal/host/walk"
)

// Guarded is an error if users other than this one and root could have written the
// files of a directory that match a pattern, or could put another directory in
// its place. This matters because whoever can write a journal decides what its undo
// runs. It is no error if the directory does not exist yet.
func Guarded(dir, pattern string) error {
	if _, err := (trail{gone: walk.IsTheEnd}).walk(dir); err != nil {
		return err
	}
	return guardedFiles(dir, pattern)
}

// MakeGuarded makes a directory, and those missing above it, and returns its path
// without links. It is an error, before anything is made, where [Guarded] is one.
func MakeGuarded(dir string) (real string, err error) {
	return trail{gone: walk.IsMade}.walk(dir)
}

// OnlyOurs returns the path of a file or directory without links. When we are root, it is an error if other users can change the file or
// directory, or can rename anything on the way to it: they could put a link in the place of what root makes there. A directory like
// /tmp is allowed, where others can add things but cannot rename ours.
func OnlyOurs(name string) (real string, err error) {
	if os.Geteuid() != 0 {
		return filepath.EvalSymlinks(name)
	}
	return trail{shared: true}.walk(name)
}

// trail walks paths on which no other user may change anything.
type trail struct {
	gone   walk.Missing // what to do where something is missing
	shared bool         // others may be able to add to the last directory
}

// walk follows a path name by name, as the kernel does, and returns it without links. No other user can rename anything where it has
// passed, so that each name still leads to what was looked at.
func (t trail) walk(name string) (real string, err error) {
	name, err = filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("look at who can write to %s: %w", name, err)
	}
	at, todo := "/", walk.Names(name)
	for links := 0; ; {
		last := len(todo) == 0
		info, err := t.look(at, last)
		if errors.Is(err, fs.ErrNotExist) && t.gone == walk.IsTheEnd {
			return filepath.Join(append([]string{at}, todo...)...), nil
		}
		if err != nil {
			return "", err
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			if links++; err != nil || links > walk.MaxLinks {
				return "", fmt.Errorf("follow the link %s: %w", at, errors.Join(err, syscall.ELOOP))
			}
			todo = append(walk.Names(to), todo...)
			if at = filepath.Dir(at); filepath.IsAbs(to) {
				at = "/"
			}
			continue // its target may be the last of the path, for which look is stricter
		case !last:
			at, todo = filepath.Join(at, todo[0]), todo[1:] // .. is the one above, as nothing in at is a link
		case t.gone == walk.IsMade && !info.IsDir():
			return "", fmt.Errorf("make the directory %s: there is something else of that name", at)
		default:
			return at, nil
		}
	}
}

// look makes a directory on the way if it is missing and wanted. It is an error if others can write to what is there. last says that it
// is the end of the path.
func (t trail) look(at string, last bool) (fs.FileInfo, error) {
	info, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) && t.gone == walk.IsMade {
		info, err = madeGuarded(at, last)
	}
	if err != nil {
		return nil, fmt.Errorf("look at who can write to %s: %w", at, hint.Cause(err))
	}
	if why := writers(info, last && !t.shared); why != "" {
		return nil, &unguarded{at, why}
	}
	return info, nil
}

// madeGuarded makes a directory, and looks at what is there then: in a directory like /tmp
// somebody else may have been faster. Only the last of the path is closed to others, who may have things of their own in those above.
func madeGuarded(at string, last bool) (fs.FileInfo, error) {
	perm := fs.FileMode(0o755)
	if last {
		perm = 0o700
	}
	if err := os.Mkdir(at, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.Lstat(at)
}

// unguarded is the error of a path that other users can write to.
type unguarded struct{ path, why string }

func (e *unguarded) Error() string {
	return fmt.Sprintf("%s %s: other users can change what is there", e.path, e.why)
}

// Is makes it one about permissions, although not about ours.
func (e *unguarded) Is(target error) bool { return target == ErrDenied }

// Hint says what a person can do.
func (e *unguarded) Hint() string {
	return "first read its contents, journals with plumb history; then give it to the user who runs this (chown), and remove the right to write from others (chmod go-w)"
}

// writers says who else can write to something on a path; "" for nobody. A directory with the sticky bit passes unless it has to be
// closed: others can add to it, but can rename and remove only what is theirs.
func writers(info fs.FileInfo, closed bool) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "does not say whose it is"
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Sprintf("belongs to user %d, who is neither root nor who runs this", st.Uid)
	case info.Mode()&fs.ModeSymlink != 0:
		return ""
	case info.Mode()&othersRights(st.Uid, st.Gid, os.Geteuid()) != 0 && (closed || info.Mode()&fs.ModeSticky == 0):
		return fmt.Sprintf("can be written to by others (mode %04o)", info.Mode().Perm())
	}
	return ""
}

// othersRights are the permissions that let others write. Where useradd gives each user a group of the same number, that group has only
// this user in it, and a usual umask lets it write to all of the user's files: it does not count as others.
func othersRights(owner, group uint32, us int) fs.FileMode {
	if us != 0 && int(owner) == us && int(group) == us {
		return 0o002
	}
	return 0o022
}

// guardedFiles looks at the files of a guarded directory whose names match a
// pattern, as a file can have been given to somebody else.
func guardedFiles(dir, pattern string) error {
	names, err := filepath.Glob(filepath.Join(Verbatim(dir), pattern))
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, name := range names {
		info, err := os.Lstat(name)
		if err != nil {
			return fmt.Errorf("look at who can write to %s: %w", name, hint.Cause(err))
		}
		if !info.Mode().IsRegular() {
			return &unguarded{name, "is not a regular file"}
		}
		if why := writers(info, true); why != "" {
			return &unguarded{name, why}
		}
	}
	return nil
}
