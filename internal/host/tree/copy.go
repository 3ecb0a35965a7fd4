package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	step  = 1 << 20 // bytes that are moved at once
	large = 1 << 20 // from so many bytes on a file is read back from the disk, and not from memory
)

var errReadBack = errors.New("what was read back is not what was written")

// Copy makes a file like one of another directory, in the place of what has its name, reads it back, and gives its
// SHA-256 and what it is then. e is how the list had it: no more is read than it was long.
func (r *Root) Copy(ctx context.Context, from *Root, e Entry) (sum string, now Entry, err error) {
	in, _, err := from.file(e.Name)
	if err != nil {
		return "", now, err
	}
	defer in.Close()
	if err := r.Remove(e.Name); err != nil {
		return "", now, err
	}
	fd := -1
	err = r.at("make", e.Name, func(dir int, base string) error {
		fd, err = openAt(dir, base, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return "", now, err
	}
	out := os.NewFile(uintptr(fd), r.Path+"/"+e.Name)
	defer out.Close()
	want, err := pour(ctx, in, out, e.Size)
	if err == nil && e.Size >= large {
		if err = out.Sync(); err == nil {
			_ = unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) // a hint
		}
	}
	if err == nil {
		err = give(fd, e)
	}
	if err != nil {
		return "", now, said("copy to", r.Path, e.Name, err)
	}
	sum, err = read(ctx, out, e.Size)
	if err == nil && sum != want {
		err = errReadBack
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		return "", now, said("read back", r.Path, e.Name, err)
	}
	now = e
	now.Size, now.Modified, now.Changed, now.Inode = st.Size, st.Mtim.Nano(), st.Ctim.Nano(), st.Ino
	return sum, now, nil
}

// pour moves the data of a file, leaves its holes, and gives the sum of all of it.
func pour(ctx context.Context, in, out *os.File, size int64) (string, error) {
	sum := sha256.New()
	err := data(ctx, in, size, sum, func(at int64, part []byte) error {
		_, err := out.WriteAt(part, at)
		return err
	})
	if err == nil {
		err = out.Truncate(size)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

func read(ctx context.Context, f *os.File, size int64) (string, error) {
	sum := sha256.New()
	err := data(ctx, f, size, sum, func(int64, []byte) error { return nil })
	return hex.EncodeToString(sum.Sum(nil)), err
}

var zeros [step]byte

// data goes through the first bytes of a file: the data in it are handed on, and holes alone summed, as the zeros
// that they are. What somebody cut off meanwhile is a hole.
func data(ctx context.Context, f *os.File, size int64, sum hash.Hash, take func(at int64, part []byte) error) error {
	buffer := make([]byte, step)
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, err := f.Seek(at, unix.SEEK_DATA)
		switch {
		case errors.Is(err, unix.ENXIO):
			from = size
		case errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP):
			from = at
		case err != nil:
			return err
		}
		for from = min(from, size); at < from; {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := min(from-at, step)
			sum.Write(zeros[:n])
			at += n
		}
		if at == size {
			return nil
		}
		n, err := f.ReadAt(buffer[:min(size-at, step)], at)
		if n == 0 && errors.Is(err, io.EOF) {
			n = int(min(size-at, step))
			sum.Write(zeros[:n])
			at += int64(n)
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		sum.Write(buffer[:n])
		if err := take(at, buffer[:n]); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
