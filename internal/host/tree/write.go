package tree

import (
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/host/walk"
)

// MakeDir makes a directory that only root can enter, unless there is one. What else has the name is removed.
func (r *Root) MakeDir(name string) error {
	return r.at("make", name, func(dir int, base string) error {
		err := unix.Mkdirat(dir, base, 0o700)
		if !errors.Is(err, unix.EEXIST) {
			return err
		}
		var st unix.Stat_t
		if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return err
		}
		return errors.Join(unix.Unlinkat(dir, base, 0), unix.Mkdirat(dir, base, 0o700))
	})
}

// MakeLink makes a link like another, in the place of what has its name.
func (r *Root) MakeLink(e Entry) error {
	if err := r.Remove(e.Name); err != nil {
		return err
	}
	return r.at("make", e.Name, func(dir int, base string) error {
		times := []unix.Timespec{unix.NsecToTimespec(e.Modified), unix.NsecToTimespec(e.Modified)}
		return errors.Join(unix.Symlinkat(e.Link, dir, base), unix.Fchownat(dir, base, e.UID, e.GID, unix.AT_SYMLINK_NOFOLLOW),
			unix.UtimesNanoAt(dir, base, times, unix.AT_SYMLINK_NOFOLLOW))
	})
}

// MakeName gives a file another name too, in the place of what has it.
func (r *Root) MakeName(of, name string) error {
	if err := r.Remove(name); err != nil {
		return err
	}
	return r.at("link", of, func(from int, base string) error {
		return r.at("link", name, func(to int, other string) error { return unix.Linkat(from, base, to, other, 0) })
	})
}

// Remove removes what has a name, with all below it. What is not there is no error.
func (r *Root) Remove(name string) error {
	return r.at("remove", name, func(dir int, base string) error { return r.removeAt(dir, base) })
}

// RemoveEmpty removes a directory if nothing is in it, and nothing mounted on it.
func (r *Root) RemoveEmpty(name string) {
	_ = r.at("remove", name, func(dir int, base string) error { return unix.Unlinkat(dir, base, unix.AT_REMOVEDIR) })
}

func (r *Root) removeAt(dir int, base string) error {
	err := walk.Retry(func() error { return unix.Unlinkat(dir, base, 0) })
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !(errors.Is(err, unix.EPERM) && isDir(dir, base)) {
		return err
	}
	fd, err := openAt(dir, base, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := r.same(fd); err != nil {
		return err
	}
	names, err := namesIn(fd)
	for _, name := range names {
		if err == nil {
			err = r.removeAt(fd, name)
		}
	}
	if err == nil {
		err = unix.Unlinkat(dir, base, unix.AT_REMOVEDIR)
	}
	return err
}

func isDir(dir int, base string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// Names lists what is in the directory itself, but for an empty lost+found.
func (r *Root) Names() ([]string, error) {
	names, err := namesIn(r.fd)
	if err != nil {
		return nil, said("list", r.Path, ".", err)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		if name != "lost+found" {
			return false
		}
		fd, err := openAt(r.fd, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return false
		}
		defer unix.Close(fd)
		return empty(fd)
	}), nil
}

// Shut closes the directory to others: only root can enter it then.
func (r *Root) Shut() error {
	err := errors.Join(unix.Chown(path(r.fd), 0, 0), unix.Chmod(path(r.fd), 0o700))
	if err != nil {
		return said("shut", r.Path, ".", err)
	}
	return nil
}

// Give gives a directory or file the owner, attributes, mode and time of another.
func (r *Root) Give(e Entry) error {
	fd, st, err := r.lookAt(e.Name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFDIR && kind != unix.S_IFREG {
		return said("give", r.Path, e.Name, errKind)
	}
	if err := give(fd, e); err != nil {
		return said("give owner, attributes, mode and time to", r.Path, e.Name, err)
	}
	return nil
}

func (r *Root) lookAt(name string) (int, unix.Stat_t, error) {
	if name != "." {
		return r.look(name)
	}
	var st unix.Stat_t
	fd, err := openAt(r.fd, ".", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	return fd, st, err
}

// give does it to what is held open. The owner comes first, as giving it takes rights away; and the mode after
// the access lists, which change it.
func give(fd int, e Entry) error {
	at := path(fd)
	if err := unix.Chown(at, e.UID, e.GID); err != nil {
		return err
	}
	has, err := extended(fd)
	if err != nil {
		return err
	}
	for name := range has {
		if _, keeps := e.Extended[name]; !keeps && !strings.HasPrefix(name, "security.") {
			if err := unix.Removexattr(at, name); err != nil {
				return err
			}
		}
	}
	for name, value := range e.Extended {
		if has[name] == value && hasKey(has, name) {
			continue
		}
		if err := unix.Setxattr(at, name, []byte(value), 0); err != nil {
			return &attributeError{name, err}
		}
	}
	if err := unix.Chmod(at, e.Mode); err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, at, []unix.Timespec{unix.NsecToTimespec(time.Now().UnixNano()), unix.NsecToTimespec(e.Modified)}, 0)
}

func hasKey(all map[string]string, key string) bool { _, ok := all[key]; return ok }

// attributeError says which attribute a filesystem does not take.
type attributeError struct {
	name string
	err  error
}

func (e *attributeError) Error() string {
	return "the attribute " + e.name + " is not taken here: " + e.err.Error()
}
func (e *attributeError) Unwrap() error { return e.err }

// Hint says what a person can do.
func (e *attributeError) Hint() string {
	return "on ZFS: xattr=sa, and acltype=posix for access lists; or take the attribute off the file"
}
