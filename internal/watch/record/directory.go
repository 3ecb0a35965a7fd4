package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Directory is where root and the service record. An ordinary user's recording
// is in $XDG_STATE_HOME/plumb/watch, or ~/.local/state/plumb/watch.
const Directory = "/var/lib/plumb-watch"

// ErrLocked says that another process records into a directory.
var ErrLocked = errors.New("another plumb records into it")

// prepare makes the directory, if it is not there, and the file in it, and
// takes the lock. real is the path of the directory without links. Where others may
// write, they could put links in place of the files, so that is refused.
func prepare(ctx context.Context, d *host.LiveDoer, dir string) (real string, unlock func(), err error) {
	if real, err = host.MakeGuarded(dir); err != nil {
		return "", nil, hint.With(err, "record as its owner, or name a directory that only you can write to")
	}
	if err := errors.Join(private(ctx, d, real), plain(real)); err != nil {
		return "", nil, err
	}
	unlock, err = d.Lock(ctx, filepath.Join(real, "lock"))
	if errors.Is(err, host.ErrLocked) {
		return "", nil, hint.With(ErrLocked, "plumb watch replay can read it meanwhile; to record twice, name another directory")
	}
	if err != nil {
		return "", nil, err
	}
	f, err := os.OpenFile(filepath.Join(real, File), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return real, unlock, nil
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		unlock()
		return "", nil, err
	}
	return real, unlock, nil
}

// private refuses a directory that is not ours alone: names of users and clients are recorded.
func private(ctx context.Context, h host.Reader, dir string) error {
	st, err := h.Stat(ctx, dir)
	if err != nil {
		return err
	}
	if st.Mode.Perm()&0o077 != 0 {
		return hint.With(fmt.Errorf("users other than its owner can enter it (mode %04o)", st.Mode.Perm()), "chmod 700 it, if nobody else has put anything there")
	}
	if int(st.UID) != os.Geteuid() {
		return hint.With(fmt.Errorf("it belongs to user %d, not to you (%d)", st.UID, os.Geteuid()), "record as that user, or name another directory")
	}
	return nil
}

// plain refuses files of the database that are no files.
func plain(dir string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		info, err := os.Lstat(filepath.Join(dir, File+suffix))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s in it is not a file, but %s", File+suffix, kindOf(info))
		}
	}
	return nil
}

func kindOf(info fs.FileInfo) string {
	switch m := info.Mode(); {
	case m&fs.ModeSymlink != 0:
		return "a link"
	case m.IsDir():
		return "a directory"
	}
	return "something else"
}
