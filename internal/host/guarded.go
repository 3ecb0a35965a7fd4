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

// Guarded says whether others than this user and root could have written the
// files of a directory that match a pattern, or could put another directory in
// its place: whoever can write a journal says what its undo runs. The directory
// may not exist yet.
func Guarded(dir, pattern string) error {
	if _, err := (trail{gone: walk.IsTheEnd}).walk(dir); err != nil {
		return err
	}
	return guardedFiles(dir, pattern)
}

// MakeGuarded makes a directory for what is kept, and what is missing above it,
// where it is not there, and gives its path without links. It is refused like
// [Guarded], before anything is made.
func MakeGuarded(dir string) (real string, err error) {
	return trail{gone: walk.IsMade}.walk(dir)
}

// OnlyOurs gives the path of a file or a directory without links, and an error when root
// asks for one that another user can change, or above which he can rename things: who can
// puts a link in the place of what root makes there. It may be a directory like /tmp, where
// others can add things and not rename ours.
func OnlyOurs(name string) (real string, err error) {
	if os.Geteuid() != 0 {
		return filepath.EvalSymlinks(name)
	}
	return trail{shared: true}.walk(name)
}

// trail is how a path is walked of which nobody else may change anything.
type trail struct {
	gone   walk.Missing // what happens where something is missing
	shared bool         // the last directory may be one to which others can add
}

// walk takes the names of a path one after the other, as the kernel does, and
// links with their owners. Where it has been nobody else can rename anything,
// so that each next name leads where it did when it was looked at. It gives the
// path without links.
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
			continue // what it leads to may be the last, which more is asked of
		case !last:
			at, todo = filepath.Join(at, todo[0]), todo[1:] // .. is the one above, as nothing in at is a link
		case t.gone == walk.IsMade && !info.IsDir():
			return "", fmt.Errorf("make the directory %s: there is something else of that name", at)
		default:
			return at, nil
		}
	}
}

// look looks at what is on the way, and makes it where that is wanted.
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

// madeGuarded makes a directory, and looks at what is there then: in one like /tmp
// somebody may have been faster. Below those above others may have things, too.
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

// unguarded is the error of a path that others than its reader and root can
// write to.
type unguarded struct{ path, why string }

func (e *unguarded) Error() string {
	return fmt.Sprintf("%s %s: other users can change what is there", e.path, e.why)
}

// Is tells that it is a lack of rights, if not of ours.
func (e *unguarded) Is(target error) bool { return target == ErrDenied }

// Hint says what a person can do.
func (e *unguarded) Hint() string {
	return "read what it holds first, journals with plumb history; then give it to the user who runs this (chown), and take the right to write from others (chmod go-w)"
}

// writers says who else can write to something on a path, or "". In a
// directory with the sticky bit, others cannot rename or remove what is not theirs;
// they can add to it, so one that is to be closed must not be such.
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

// othersRights are the rights to write that are not ours alone. A group of a user's own
// number is his alone, and where useradd makes such groups, all that he makes may be open to it.
func othersRights(owner, group uint32, us int) fs.FileMode {
	if us != 0 && int(owner) == us && int(group) == us {
		return 0o002
	}
	return 0o022
}

// guardedFiles looks at the files of a guarded directory whose names match a
// pattern: one can have been given to somebody else.
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
