// Package locked keeps the tests of several packages, which run at the same time, from doing one thing at once.
package locked

import (
	"os"
	"syscall"
)

// File waits until nobody else holds the lock that a file is, and holds it until the file is closed.
func File(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}
