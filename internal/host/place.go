package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// place is where a file is: its directory, held open, and its name there. What
// others rename on the way to it afterwards leads nobody elsewhere.
type place struct {
	dir   int // O_PATH
	base  string
	under uid // who owns the directory
}

func (p place) close() { unix.Close(p.dir) }

type uid = uint32

// Ways to go on where a directory of a path is missing.
type missing int

const (
	isError missing = iota
	isMade
	isTheEnd // the place is that of the first thing that is missing
)

// errLed says that a path is not gone any further: who put the link there could
// send root to any file.
var errLed = errors.New("a link of another user is on the way to it")

// placeOf walks to a file. Links of root and our own are followed, also where
// the last name is one, if follow. Anybody else's leads only to what is his
// own as well: a link in a directory that he can write to may be another by
// the time the file is written.
func placeOf(name string, follow bool, gone missing) (place, error) {
	return walkTo(name, &walker{gone: gone, follow: follow, led: -1})
}

// OpenBelow opens a path below a process's root, /proc/PID/root/…, to be
// connected to or asked about, not read. Every link on the way is followed
// from that root, whoever made it: the kernel would follow an absolute one from
// ours, and lead from a container to a socket of the host.
func OpenBelow(name string) (int, error) {
	p, err := walkTo(name, &walker{follow: true, anybody: true, led: -1})
	if err != nil {
		return -1, err
	}
	defer p.close()
	return openAt(p.dir, p.base, unix.O_PATH|unix.O_NOFOLLOW, 0)
}

func walkTo(name string, w *walker) (place, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return place{}, err
	}
	start, root, rest := SplitRoot(name)
	if root == "" {
		start, root, rest = "/", "/", name
	}
	defer w.close()
	if w.root, err = openRetry(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC); err != nil {
		return place{}, err
	}
	defer unix.Close(w.root)
	floor, err := openRetry(start, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return place{}, err
	}
	w.dirs = []int{floor}
	return w.walk(rest)
}

// walker goes along a path, directory by directory.
type walker struct {
	gone    missing
	follow  bool
	anybody bool  // links of all users are followed: nothing is written there
	root    int   // where absolute links begin
	dirs    []int // from the floor to where we are
	todo    []string
	links   int
	led     int64 // the other user whose link was followed; -1 for none
}

func (w *walker) close() {
	for _, fd := range w.dirs {
		unix.Close(fd)
	}
	w.dirs = nil
}

func (w *walker) here() int { return w.dirs[len(w.dirs)-1] }

func (w *walker) walk(path string) (place, error) {
	w.todo = parts(path)
	for len(w.todo) > 0 {
		part := w.todo[0]
		w.todo = w.todo[1:]
		if part == ".." {
			if len(w.dirs) > 1 {
				unix.Close(w.here())
				w.dirs = w.dirs[:len(w.dirs)-1]
			}
			continue
		}
		done, err := w.step(part)
		if err != nil {
			return place{}, err
		}
		if done {
			return w.placeHere(part)
		}
	}
	return place{}, errNotRegular // the root, or a path that ends in ..
}

// step goes on to the next name; done tells that it is the place.
func (w *walker) step(part string) (done bool, err error) {
	last := len(w.todo) == 0
	fd, err := openAt(w.here(), part, unix.O_PATH|unix.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (last || w.gone == isTheEnd):
		if w.led >= 0 {
			return false, errLed // what is not there is nobody's own
		}
		return true, nil
	case errors.Is(err, fs.ErrNotExist) && w.gone == isMade:
		fd, err = w.make(part)
	}
	if err != nil {
		return false, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	kind := st.Mode & unix.S_IFMT
	switch {
	case err != nil:
	case kind == unix.S_IFLNK && (!last || w.follow):
		err = w.link(fd, st.Uid)
	case last:
		done = true
		if w.led >= 0 && int64(st.Uid) != w.led {
			err = errLed
		}
	case kind != unix.S_IFDIR:
		err = syscall.ENOTDIR
	default:
		w.dirs = append(w.dirs, fd)
		return false, nil
	}
	unix.Close(fd)
	return done, err
}

// make makes a missing directory durably.
func (w *walker) make(part string) (int, error) {
	if w.led >= 0 {
		return -1, errLed
	}
	if err := unix.Mkdirat(w.here(), part, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return -1, err
	}
	if err := syncAt(w.here()); err != nil {
		return -1, err
	}
	return openAt(w.here(), part, unix.O_PATH|unix.O_NOFOLLOW, 0)
}

// link goes where a link of somebody leads.
func (w *walker) link(fd int, owner uid) error {
	if w.links++; w.links > maxLinks {
		return syscall.ELOOP
	}
	if owner != 0 && int(owner) != os.Geteuid() && !w.anybody {
		if w.led >= 0 && w.led != int64(owner) {
			return errLed
		}
		w.led = int64(owner)
	}
	to, err := readlinkAt(fd)
	if err != nil {
		return err
	}
	if strings.HasPrefix(to, "/") {
		floor, err := unix.FcntlInt(uintptr(w.root), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		w.close()
		w.dirs = []int{floor}
	}
	w.todo = append(parts(to), w.todo...)
	return nil
}

func (w *walker) placeHere(base string) (place, error) {
	var st unix.Stat_t
	if err := unix.Fstat(w.here(), &st); err != nil {
		return place{}, err
	}
	dir, err := unix.FcntlInt(uintptr(w.here()), unix.F_DUPFD_CLOEXEC, 0)
	return place{dir, base, st.Uid}, err
}

func parts(path string) []string {
	var all []string
	for part := range strings.SplitSeq(path, "/") {
		if part != "" && part != "." {
			all = append(all, part)
		}
	}
	return all
}

func openAt(dir int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, perm)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func readlinkAt(fd int) (string, error) {
	to := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", to)
	if err != nil {
		return "", err
	}
	return string(to[:n]), nil
}

// syncAt makes the names in a directory durable.
func syncAt(dir int) error {
	fd, err := openAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fsync(fd), unix.Close(fd))
}

// others tells whether the directory is of neither root nor us: he can rename
// what is in it.
func (p place) others() bool { return p.under != 0 && int(p.under) != os.Geteuid() }

// open opens the file itself, a regular one, and no link.
func (p place) open(flags int, perm uint32) (*os.File, error) {
	// Without O_NONBLOCK a pipe in its place would hold us for ever.
	fd, err := openAt(p.dir, p.base, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, perm)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotRegular
	}
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), p.base), nil
}

// look opens what is there for a look alone.
func (p place) look() (fd int, st unix.Stat_t, err error) {
	if fd, err = openAt(p.dir, p.base, unix.O_PATH|unix.O_NOFOLLOW, 0); err != nil {
		return -1, st, err
	}
	if err = unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// remove takes the name away, of a file or of an empty directory.
func (p place) remove(base string) error {
	err := unix.Unlinkat(p.dir, base, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if dir := unix.Unlinkat(p.dir, base, unix.AT_REMOVEDIR); !errors.Is(dir, syscall.ENOTDIR) {
		return dir
	}
	return err
}

// replace puts a new file in the place of the old one.
func (p place) replace(ctx context.Context, data []byte, perm fs.FileMode) error {
	beside := leftover(p.base)
	if err := unix.Unlinkat(p.dir, beside, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fd, err := openAt(p.dir, beside, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer unix.Unlinkat(p.dir, beside, 0) // is gone when all went well
	f := os.NewFile(uintptr(fd), beside)
	_, err = f.Write(data)
	if err == nil {
		err = p.likeOld(f, perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return err
	}
	if err := unix.Renameat(p.dir, beside, p.dir, p.base); err != nil {
		return err
	}
	return syncAt(p.dir)
}

// likeOld gives a new file the mode, owner and extended attributes (labels,
// access lists) of the one it will replace. Where there is none, it is his
// whose directory it is in: root owns nothing under a name that another chose.
func (p place) likeOld(f *os.File, perm fs.FileMode) error {
	old, st, err := p.look()
	if errors.Is(err, fs.ErrNotExist) {
		if err := p.give(f); err != nil {
			return err
		}
		return f.Chmod(perm)
	}
	if err != nil {
		return err
	}
	defer unix.Close(old)
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errNotRegular
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return fmt.Errorf("keep its owner: %w", err)
		}
	}
	if err := f.Chmod(fs.FileMode(st.Mode & 0o777)); err != nil {
		return err
	}
	return copyAttributes(fmt.Sprintf("/proc/self/fd/%d", old), int(f.Fd()))
}

// give gives a file to the owner of its directory, if we are root and it is
// another's.
func (p place) give(f *os.File) error {
	if !p.others() || os.Geteuid() != 0 {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(p.dir, &st); err != nil {
		return err
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}
