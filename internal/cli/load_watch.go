package cli

import (
	"fmt"
	"io"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/load"
	loadview "plumb/internal/view/load"
)

// watcher shows a run while it lasts: a line each interval where that was
// asked for, otherwise one line that rewrites itself where a person watches.
type watcher struct {
	out      io.Writer // for the lines that were asked for
	screen   io.Writer // for what rewrites itself; nil for nobody watching
	interval time.Duration
	limit    time.Duration // of the whole run; 0 for unknown
	line     func(load.Second) string
	merged   load.Second
	wrote    bool
}

// watch makes the watcher of a run, and hooks it in.
func (a *app) watch(o *load.Options, d *drive, y *loadview.Sysbench) *watcher {
	w := &watcher{out: a.Out, interval: time.Duration(d.interval), limit: o.Time}
	if d.json {
		w.out = a.Err
	}
	threads := o.Threads
	w.line = loadview.Line(d.percentile)
	if y != nil {
		w.line = func(s load.Second) string { return y.Interval(s, threads) }
	} else if w.interval == 0 && shell.IsTerminal(a.Err) {
		w.screen = a.Err
	}
	if o.Time > 0 {
		w.limit += o.Warmup
	}
	o.OnSecond = w.second
	return w
}

// second is called by the engine once a second.
func (w *watcher) second(s load.Second) {
	if w.screen != nil {
		shell.Rewrite(w.screen, loadview.Progress(s, w.limit))
		w.wrote = true
		return
	}
	if w.interval == 0 {
		return
	}
	if w.merged.Length > 0 && w.merged.Warmup != s.Warmup {
		w.flush()
	}
	w.merged.Add(s)
	if w.merged.Length >= w.interval-time.Second/2 {
		w.flush()
	}
}

func (w *watcher) flush() {
	if w.merged.Length > 0 {
		fmt.Fprint(w.out, w.line(w.merged))
	}
	all := w.merged.All
	if all.Histogram != nil {
		all.Reset()
	}
	w.merged = load.Second{All: all}
}

// done wipes the line that rewrites itself.
func (w *watcher) done() {
	if w.wrote {
		shell.Rewrite(w.screen, "")
	}
}
