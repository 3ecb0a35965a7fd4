package cli

import (
	"fmt"
	"io"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/rehearse"
	labview "plumb/internal/view/lab"
	rehearseview "plumb/internal/view/rehearse"
)

// labWatcher shows what a lab does: a line that rewrites itself where a person
// watches, and a line for each trial elsewhere.
type labWatcher struct {
	stage  string // the stage of a rehearsal, which begins each line; "" outside of one
	out    io.Writer
	screen bool
	told   map[experiment.Trial]bool // trials that have been shown: interleaved ones report progress again and again
	shown  time.Time
	warned bool // that the time will not do
}

func (a *app) labWatch() *labWatcher {
	return &labWatcher{out: a.Err, screen: shell.IsTerminal(a.Err), told: map[experiment.Trial]bool{}}
}

// Progress shows what the lab is doing.
func (w *labWatcher) Progress(p lab.Progress) {
	if text := labview.TooLong(p.Report); text != "" && !w.warned && w.stage == "" { // a rehearsal gives a stage what others leave
		w.warned = true
		w.Tell("note: " + text)
	}
	switch {
	case w.screen:
		if time.Since(w.shown) > 200*time.Millisecond || p.Elapsed == 0 {
			w.shown = time.Now()
			shell.Rewrite(w.out, rehearseview.Progress(w.stage, p))
		}
	case !w.told[p.Trial]:
		w.told[p.Trial] = true
		fmt.Fprintln(w.out, rehearseview.Progress(w.stage, p))
	}
}

// Begin begins a stage of a rehearsal.
func (w *labWatcher) Begin(stage string) {
	w.stage = stage
	clear(w.told)
}

// Tell prints a line about progress.
func (w *labWatcher) Tell(text string) {
	w.done()
	fmt.Fprintln(w.out, text)
}

// Searched shows the progress of a search.
func (w *labWatcher) Searched(s rehearse.Search) { w.Tell(rehearseview.SearchLine(s)) }

func (w *labWatcher) done() {
	if w.screen {
		shell.Rewrite(w.out, "")
	}
}
