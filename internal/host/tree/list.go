package tree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"plumb/internal/host/walk"
)

// Entry is one name below a directory.
type Entry struct {
	Name     string // "." for the directory itself
	Kind     byte   // d, f or l
	Size     int64  // of a file
	Mode     uint32 // permissions, with the set-id and sticky bits
	UID, GID int
	Modified int64 // nanoseconds since 1970
	Changed  int64 // likewise: of the inode
	Inode    uint64
	Names    uint64 // that a file has
	Link     string
	Extended map[string]string // attributes, access lists among them
}

// Limits of a list: what is over them is an error.
const (
	mostEntries  = 5_000_000
	mostExtended = 1 << 20 // bytes of the attributes of one file
	mostHoles    = 1 << 40 // bytes: reading on through holes takes time for nothing
)

// Options of a list.
type Options struct {
	Skip func(name string) bool // what is left out, with all below it
	// Live tells that others write there: what has vanished meanwhile is left out.
	Live bool
}

// List lists a directory with all that is in it, but for sockets, which hold nothing, and the empty
// lost+found of a filesystem: what is above comes before what is below.
func (r *Root) List(ctx context.Context, o Options) ([]Entry, error) {
	l := listing{ctx: ctx, r: r, o: o}
	fd, err := openAt(r.fd, ".", unix.O_PATH, 0)
	if err != nil {
		return nil, said("list", r.Path, ".", err)
	}
	err = l.entry(fd, ".")
	unix.Close(fd)
	if err == nil {
		err = l.directory(r.fd, "")
	}
	slices.SortFunc(l.all, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return l.all, err
}

type listing struct {
	ctx context.Context
	r   *Root
	o   Options
	all []Entry
}

// gone tells whether an error is that of a name that somebody removed or made another thing meanwhile.
func (l *listing) gone(err error) bool {
	return l.o.Live && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP))
}

func (l *listing) directory(at int, prefix string) error {
	names, err := namesIn(at)
	if l.gone(err) {
		return nil
	}
	if err != nil {
		return said("list", l.r.Path, cmp.Or(strings.TrimSuffix(prefix, "/"), "."), err)
	}
	for _, base := range names {
		name := prefix + base
		if err := l.ctx.Err(); err != nil {
			return err
		}
		if l.o.Skip != nil && l.o.Skip(name) {
			continue
		}
		fd, err := openAt(at, base, unix.O_PATH, 0)
		if l.gone(err) {
			continue
		}
		if err != nil {
			return said("look at", l.r.Path, name, err)
		}
		err = l.entry(fd, name)
		if n := len(l.all); err == nil && n > 0 && l.all[n-1].Name == name && l.all[n-1].Kind == 'd' {
			if prefix == "" && base == "lost+found" && l.all[n-1].UID == 0 && empty(fd) {
				l.all = l.all[:n-1]
			} else {
				err = l.directory(fd, name+"/")
			}
		}
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

func empty(dir int) bool {
	names, err := namesIn(dir)
	return err == nil && len(names) == 0
}

// entry adds what is held open.
func (l *listing) entry(fd int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return said("look at", l.r.Path, name, err)
	}
	e := Entry{Name: name, Mode: st.Mode & 0o7777, UID: int(st.Uid), GID: int(st.Gid), Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(), Inode: st.Ino, Names: uint64(st.Nlink)}
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		return nil
	case unix.S_IFDIR:
		if e.Kind = 'd'; st.Dev != l.r.dev {
			err = errMounted
		}
	case unix.S_IFLNK:
		e.Kind = 'l'
		e.Link, err = readLink(fd)
	case unix.S_IFREG:
		if e.Kind, e.Size = 'f', st.Size; st.Size-st.Blocks*512 > mostHoles {
			err = fmt.Errorf("it is a file with holes of %d bytes", st.Size-st.Blocks*512)
		}
	default:
		err = errKind
	}
	if err == nil && e.Kind != 'l' {
		e.Extended, err = extended(fd)
	}
	if err == nil && len(l.all) >= mostEntries {
		err = fmt.Errorf("there are more than %d files", mostEntries)
	}
	if err != nil {
		return said("look at", l.r.Path, name, err)
	}
	l.all = append(l.all, e)
	return nil
}

func readLink(fd int) (string, error) {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buffer)
	return string(buffer[:max(n, 0)]), err
}

// extended reads the attributes of what is held open.
func extended(fd int) (map[string]string, error) {
	names, err := sized(func(to []byte) (int, error) { return unix.Listxattr(path(fd), to) })
	if errors.Is(err, unix.ENOTSUP) || len(names) == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for name := range bytes.SplitSeq(bytes.TrimSuffix(names, []byte{0}), []byte{0}) {
		if bytes.HasPrefix(name, []byte("btrfs.")) { // of the filesystem, and not of the file
			continue
		}
		value, err := sized(func(to []byte) (int, error) { return unix.Getxattr(path(fd), string(name), to) })
		if err != nil {
			return nil, fmt.Errorf("its attribute %s: %w", name, err)
		}
		all[string(name)] = string(value)
	}
	return all, nil
}

// sized reads what must first be asked how long it is.
func sized(read func([]byte) (int, error)) ([]byte, error) {
	for size := 4096; size <= mostExtended; size *= 4 {
		buffer := make([]byte, size)
		n, err := read(buffer)
		if errors.Is(err, unix.ERANGE) {
			continue
		}
		return buffer[:max(n, 0)], err
	}
	return nil, unix.E2BIG
}

// namesIn lists a directory that is held open, sorted.
func namesIn(dir int) (names []string, err error) {
	fd, err := openAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buffer := make([]byte, 64<<10)
	for {
		n := 0
		err := walk.Retry(func() (err error) { n, err = unix.ReadDirent(fd, buffer); return err })
		if err != nil || n == 0 {
			slices.Sort(names)
			return names, err
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
		if len(names) > mostEntries {
			return nil, fmt.Errorf("there are more than %d files", mostEntries)
		}
	}
}

// Itself is the directory's own entry.
func (r *Root) Itself() (Entry, error) {
	l := listing{r: r}
	fd, err := openAt(r.fd, ".", unix.O_PATH, 0)
	if err != nil {
		return Entry{}, said("look at", r.Path, ".", err)
	}
	defer unix.Close(fd)
	if err := l.entry(fd, "."); err != nil {
		return Entry{}, err
	}
	return l.all[0], nil
}

// Kind tells what a name is: d, f, l, or 0 for anything else and for nothing.
func (r *Root) Kind(name string) byte {
	fd, st, err := r.look(name)
	if err != nil {
		return 0
	}
	unix.Close(fd)
	return map[uint32]byte{unix.S_IFDIR: 'd', unix.S_IFREG: 'f', unix.S_IFLNK: 'l'}[st.Mode&unix.S_IFMT]
}

// Full tells whether an error is that of a filesystem that has no room, or not for this user.
func Full(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// ReadOnly tells whether an error is that of a filesystem that takes no writes, or no more since it met an error.
func ReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }

// Replaced tells whether an error is that of a name that became another thing meanwhile.
func Replaced(err error) bool {
	return errors.Is(err, errKind) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
