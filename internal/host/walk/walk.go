// Package walk follows a path to a file as the kernel does, but does not trust links of other users: such a link on the
// way could send root to any file. A path below a process's root, /proc/PID/root/…, it follows as that process would.
//
// The result is a [Place]: a directory that is kept open, and a name in it. Files are read and changed there, so that it
// no longer matters if somebody renames a directory on the way.
package walk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Place is where a file is: its directory, kept open, and its name there.
type Place struct {
	dir   int // an O_PATH descriptor
	base  string
	under uint32 // the user who owns the directory
}

// Close closes the directory.
func (p Place) Close() { unix.Close(p.dir) }

// How says how a path is walked.
type How struct {
	Follow bool // if the last name is a link, follow it too
	Gone   Missing
}

// Missing is what to do about a directory on the way that is missing.
type Missing int

// What to do about it.
const (
	IsError  Missing = iota
	IsMade           // make it
	IsTheEnd         // end the walk: the place is that of the missing directory
)

// errLed says that a path is not followed any further: whoever put the link there could
// send root to any file.
var errLed = errors.New("a link of another user is on the way to it")

// To walks to a file. Links of root and our own are followed. A link of another user is
// only followed to a file of the same user: by the time we write, it may lead elsewhere.
func To(name string, how How) (Place, error) {
	return walkTo(name, &walker{How: how, led: -1})
}

// OpenBelow opens a path below a process's root, /proc/PID/root/…, as an O_PATH descriptor, with which one can
// connect to a socket or ask about a file, but not read it. All links on the way are followed
// within that root, whoever made them. The kernel would follow absolute links from
// our own root, and so lead from a container to a socket of the host.
func OpenBelow(name string) (int, error) {
	p, err := walkTo(name, &walker{How: How{Follow: true}, anybody: true, led: -1})
	if err != nil {
		return -1, err
	}
	defer p.Close()
	return openAt(p.dir, p.base, unix.O_PATH|unix.O_NOFOLLOW, 0)
}

func walkTo(name string, w *walker) (Place, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return Place{}, err
	}
	start, root, rest := SplitRoot(name)
	if root == "" {
		start, root, rest = "/", "/", name
	}
	defer w.close()
	if w.root, err = OpenRetry(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC); err != nil {
		return Place{}, err
	}
	defer unix.Close(w.root)
	floor, err := OpenRetry(start, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return Place{}, err
	}
	w.dirs = []int{floor}
	return w.walk(rest)
}

// walker goes along a path, directory by directory.
type walker struct {
	How
	anybody bool  // follow links of all users, as nothing will be written
	root    int   // the directory where absolute links begin
	dirs    []int // the directories from where we began, above which .. does not lead, to where we are
	todo    []string
	links   int   // how many were followed
	led     int64 // the other user whose link was followed; -1 for none
}

func (w *walker) close() {
	for _, fd := range w.dirs {
		unix.Close(fd)
	}
	w.dirs = nil
}

func (w *walker) here() int { return w.dirs[len(w.dirs)-1] }

func (w *walker) walk(path string) (Place, error) {
	w.todo = Names(path)
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
			return Place{}, err
		}
		if done {
			return w.placeHere(part)
		}
	}
	return Place{}, ErrNotRegular // the root, or a path that ends in ..
}

// step follows the next name. done tells that it names the place.
func (w *walker) step(part string) (done bool, err error) {
	last := len(w.todo) == 0
	fd, err := openAt(w.here(), part, unix.O_PATH|unix.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (last || w.Gone == IsTheEnd):
		if w.led >= 0 {
			return false, errLed // a missing file does not belong to the owner of the link
		}
		return true, nil
	case errors.Is(err, fs.ErrNotExist) && w.Gone == IsMade:
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
	case kind == unix.S_IFLNK && (!last || w.Follow):
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

// link follows a link.
func (w *walker) link(fd int, owner uint32) error {
	if w.links++; w.links > MaxLinks {
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
	w.todo = append(Names(to), w.todo...)
	return nil
}

func (w *walker) placeHere(base string) (Place, error) {
	var st unix.Stat_t
	if err := unix.Fstat(w.here(), &st); err != nil {
		return Place{}, err
	}
	dir, err := unix.FcntlInt(uintptr(w.here()), unix.F_DUPFD_CLOEXEC, 0)
	return Place{dir, base, st.Uid}, err
}

// Names divides a path into its names.
func Names(path string) []string {
	var all []string
	for part := range strings.SplitSeq(path, "/") {
		if part != "" && part != "." {
			all = append(all, part)
		}
	}
	return all
}

// Retry repeats a system call for as long as signals interrupt it.
func Retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// OpenRetry opens a path, and again if a signal interrupts that.
func OpenRetry(name string, flags int) (fd int, err error) {
	err = Retry(func() (err error) { fd, err = unix.Open(name, flags, 0); return err })
	return fd, err
}

func openAt(dir int, name string, flags int, perm uint32) (fd int, err error) {
	err = Retry(func() (err error) { fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC, perm); return err })
	return fd, err
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
