package host

import (
	"os"
	"os/signal"
	"syscall"
)

// EndSignals lists the signals that ask a program to end: of a person (Ctrl-C), of
// a service manager, and of a terminal or an ssh session that ends. The last is left
// out if the program was started with nohup.
func EndSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// BrokenPipe is the signal for a program whose output nobody reads any more. A program
// that calls signal.Notify for it is not ended by it; its writes fail instead.
const BrokenPipe Signal = syscall.SIGPIPE
