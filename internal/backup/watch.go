package backup

import "io"

// Watcher sees what is backed up go by, and finds out what it is: where in a log a base begins is known to who
// restores it before a byte of it is written then.
type Watcher interface {
	io.Writer
	// Facts gives what was found, when all has gone by; nothing where it is something else.
	Facts() map[string]string
}

// watched has watchers see a stream.
type watched struct {
	w   io.Writer
	all []Watcher
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	for _, one := range w.all {
		_, _ = one.Write(p[:n]) // it takes everything
	}
	return n, err
}

// found adds what the watchers found to what is known of a backup.
func (w *watched) found(facts map[string]string) map[string]string {
	for _, one := range w.all {
		for name, value := range one.Facts() {
			if facts == nil {
				facts = map[string]string{}
			}
			facts[name] = value
		}
	}
	return facts
}

// Watch gives a watcher whose stream is read by a function, which notes facts. Where it fails, or one of those that are
// needed is not found, it was something else.
func Watch(read func(r io.Reader, facts map[string]string) error, needed ...string) Watcher {
	out, in := io.Pipe()
	w := &watching{in: in, done: make(chan struct{}), needed: needed, facts: map[string]string{}}
	go func() {
		defer close(w.done)
		if err := read(out, w.facts); err != nil {
			clear(w.facts) // it is something else, or was cut
		}
		_, _ = io.Copy(io.Discard, out) // what it is does not end the backup
	}()
	return w
}

// watching is a watcher that reads.
type watching struct {
	in     *io.PipeWriter
	done   chan struct{}
	needed []string
	facts  map[string]string
}

// Write implements io.Writer. It takes everything.
func (w *watching) Write(p []byte) (int, error) { return w.in.Write(p) }

// Facts implements Watcher, and ends it.
func (w *watching) Facts() map[string]string {
	_ = w.in.Close()
	<-w.done
	for _, name := range w.needed {
		if w.facts[name] == "" {
			return nil
		}
	}
	return w.facts
}
