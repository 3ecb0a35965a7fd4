package host

import (
	"context"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"plumb/internal/hint"
	"plumb/internal/host/redact"
	"plumb/internal/host/walk"
)

// ReadFile implements Reader. Only regular files are read: opening a device
// can change it, and a pipe would wait for ever.
func (l *Live) ReadFile(ctx context.Context, name string) ([]byte, error) {
	data, err := l.readRaw(ctx, name)
	if data != nil {
		data = redact.File(name, data)
	}
	return data, err
}

// readRaw reads a file with its secrets in place.
func (l *Live) readRaw(ctx context.Context, name string) ([]byte, error) {
	data, err := onFile(ctx, l, name, true, func(context.Context) ([]byte, error) {
		limit := roomOf(ctx).take(l.options.FileBytes)
		read := func() ([]byte, error) { return readHead(name, limit) }
		data, err := read()
		if err == nil && socketLists.MatchString(name) {
			data, err = readAgain(name, data, read)
		}
		roomOf(ctx).used(len(data))
		return data, err
	})
	return data, fileError("read", name, err)
}

// readHead reads at most limit bytes of a regular file. Opening a device is
// not harmless: a watchdog resets the machine when it is closed again, a tape
// drive rewinds. So it is looked at first, and what was looked at is opened.
func readHead(name string, limit int) ([]byte, error) {
	at, err := walk.InRoot(name, true)
	if err != nil {
		return nil, err
	}
	there, err := walk.OpenRetry(at, unix.O_PATH|unix.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(there)
	var st unix.Stat_t
	if err := unix.Fstat(there, &st); err != nil {
		return nil, err
	}
	return readThere(there, st, limit)
}

// readThere reads the file that an O_PATH descriptor stands for.
func readThere(there int, st unix.Stat_t, limit int) ([]byte, error) {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return nil, syscall.EISDIR
	default:
		return nil, walk.ErrNotRegular
	}
	fd, err := reopen(there, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readAll(fd, limit, st.Size)
}

// reopen opens the file that an O_PATH descriptor stands for.
func reopen(fd, flags int) (int, error) {
	return walk.OpenRetry("/proc/self/fd/"+strconv.Itoa(fd), flags|unix.O_CLOEXEC)
}

// readAll reads to the end or to the limit. hint is the size stat tells,
// which is 0 for files of /proc.
func readAll(fd, limit int, hint int64) ([]byte, error) {
	buf := make([]byte, 0, min(int64(limit)+1, max(hint+1, 4096)))
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n := 0
		err := walk.Retry(func() (err error) { n, err = unix.Read(fd, buf[len(buf):cap(buf)]); return err })
		if err != nil {
			return nil, err
		}
		buf = buf[:len(buf)+n]
		if len(buf) > limit {
			return buf[:limit], ErrTooLarge
		}
		if n == 0 {
			return buf, nil
		}
	}
}

// Readlink implements Reader.
func (l *Live) Readlink(ctx context.Context, name string) (string, error) {
	to, err := onFile(ctx, l, name, true, func(context.Context) (string, error) {
		at, err := walk.InRoot(name, false)
		if err != nil {
			return "", err
		}
		to, err := os.Readlink(at)
		return to, hint.Cause(err)
	})
	return to, fileError("read link", name, err)
}

// Statfs implements Reader.
func (l *Live) Statfs(ctx context.Context, name string) (Statfs, error) {
	s, err := onFile(ctx, l, name, true, func(context.Context) (Statfs, error) {
		at, err := walk.InRoot(name, true)
		if err != nil {
			return Statfs{}, err
		}
		var st unix.Statfs_t
		err = walk.Retry(func() error { return unix.Statfs(at, &st) })
		return statfsOf(st), err
	})
	return s, fileError("statfs", name, err)
}

// statfsOf counts in bytes. Blocks are counted in fragments, which are 0 on
// kernels that do not tell them apart.
func statfsOf(st unix.Statfs_t) Statfs {
	fragment := uint64(st.Frsize)
	if fragment == 0 {
		fragment = uint64(st.Bsize)
	}
	return Statfs{
		Type:        int64(st.Type),
		BlockSize:   int64(st.Bsize),
		TotalBytes:  st.Blocks * fragment,
		FreeBytes:   st.Bfree * fragment,
		AvailBytes:  st.Bavail * fragment,
		TotalInodes: st.Files,
		FreeInodes:  st.Ffree,
	}
}

// readNames lists a directory, at most limit names.
func readNames(dir string, limit int) ([]string, error) {
	fd, err := walk.OpenRetry(dir, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	var names []string
	for {
		some, err := f.Readdirnames(4096)
		names = append(names, some...)
		if len(names) > limit {
			return names[:limit], ErrTooLarge
		}
		if err == io.EOF || (err == nil && len(some) == 0) {
			return names, nil
		}
		if err != nil {
			return names, err
		}
	}
}
