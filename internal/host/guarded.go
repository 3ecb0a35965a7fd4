package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"plumb/internal/hint"
)

// unguarded is the error of a path that others than its reader and root can
// write to.
type unguarded struct{ path, why string }

func (e *unguarded) Error() string {
	return fmt.Sprintf("%s %s: what is written there is not done for them", e.path, e.why)
}

// Hint says what a person can do.
func (e *unguarded) Hint() string {
	return "read what it holds with plumb history first; then give it to the user who runs this (chown) and take the right to write from others (chmod go-w)"
}

// Guarded says whether others than this user and root could have written the
// files of a directory that match a pattern, or could put another directory in
// its place: whoever can write a journal says what its undo runs. The directory
// may not exist yet.
func Guarded(dir, pattern string) error {
	if err := guardedPath(dir); err != nil {
		return err
	}
	return guardedFiles(dir, pattern)
}

// guardedPath takes the names of a path one after the other, as the kernel
// does, and links with their owners.
func guardedPath(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("look at who can write to %s: %w", dir, err)
	}
	at, rest := "/", strings.Split(dir, "/")
	for links := 0; ; {
		for len(rest) > 0 && (rest[0] == "" || rest[0] == ".") {
			rest = rest[1:]
		}
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // this user will make it
		}
		if err != nil {
			return fmt.Errorf("look at who can write to %s: %w", at, hint.Cause(err))
		}
		if why := writers(info, len(rest) == 0); why != "" {
			return &unguarded{at, why}
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(at)
			if links++; err != nil || links > maxLinks {
				return fmt.Errorf("follow the link %s: %w", at, errors.Join(err, syscall.ELOOP))
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			at, rest = "/", append(strings.Split(to, "/"), rest...)
			continue
		}
		if len(rest) == 0 {
			return nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:]
	}
}

// writers says who else can write to something on a path, or "". In a
// directory with the sticky bit, others cannot rename or remove what is not theirs;
// they can add to it, so the last one must not be such.
func writers(info fs.FileInfo, last bool) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "does not say whose it is"
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Sprintf("belongs to user %d, who is neither root nor who runs this", st.Uid)
	case info.Mode()&fs.ModeSymlink != 0:
		return ""
	case info.Mode().Perm()&0o022 != 0 && (last || info.Mode()&fs.ModeSticky == 0):
		return fmt.Sprintf("can be written to by others (mode %04o)", info.Mode().Perm())
	}
	return ""
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
			return &unguarded{name, "is no regular file"}
		}
		if why := writers(info, true); why != "" {
			return &unguarded{name, why}
		}
	}
	return nil
}
