package self

import (
	"os"

	"golang.org/x/sys/unix"
)

// Unread tells whether nobody can read any more what is written to a pipe, socket or terminal.
func Unread(f *os.File) bool {
	at := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(at, 0)
	return err == nil && n > 0 && at[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
