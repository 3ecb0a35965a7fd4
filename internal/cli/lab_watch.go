package cli

import (
	"fmt"
	"io"
	"time"

	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/view"
)

// labWatcher shows what a lab does: a line that rewrites itself where a person
// watches, and a line for each trial elsewhere.
type labWatcher struct {
	stage  string // of a rehearsal, before each line; "" outside
	out    io.Writer
	screen bool
	last   experiment.Trial
	of     string // stage of the last
	shown  time.Time
}

func (a *app) labWatch() *labWatcher {
	return &labWatcher{out: a.err, screen: isTerminal(a.err)}
}

func (w *labWatcher) say(p lab.Progress) {
	switch {
	case w.screen:
		if time.Since(w.shown) > 200*time.Millisecond || p.Elapsed == 0 {
			w.shown = time.Now()
			fmt.Fprintf(w.out, "\r%s\x1b[K", view.RehearsalProgress(w.stage, view.LabStep(p)))
		}
	case p.Trial != w.last || w.stage != w.of:
		fmt.Fprintln(w.out, view.RehearsalProgress(w.stage, view.LabStep(p)))
	}
	w.last, w.of = p.Trial, w.stage
}

func (w *labWatcher) done() {
	if w.screen {
		fmt.Fprint(w.out, "\r\x1b[K")
	}
}
