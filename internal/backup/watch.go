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
