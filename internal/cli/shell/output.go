package shell

import (
	"cmp"
	"io"
	"sync"
)

// output is standard output. It remembers the first error, as not everybody who writes asks whether it arrived: cobra does not when
// it prints help. A reader that went away (head) has ended the program before it comes to this, unless the command outlives that or
// the signal is ignored. An output that the shell closed (>&-) cannot be told from one that it sent to /dev/null: Go opens that in its
// place before any of our code runs.
type output struct {
	to io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = cmp.Or(o.err, err)
	return n, err
}

// lost is why not all that was written arrived; nil where it did.
func (o *output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
