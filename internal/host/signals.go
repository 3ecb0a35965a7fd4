package host

import (
	"os"
	"os/signal"
	"syscall"
)

// EndSignals are those by which people and the system ask a program to end:
// an interrupt, a service manager's, and the end of a terminal or of an ssh
// session. Started with nohup it does not end with the last.
func EndSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// BrokenPipe is the signal of an output that nobody reads any more. A program
// that is asked to be told of it lives on, and its writes fail.
const BrokenPipe Signal = syscall.SIGPIPE
