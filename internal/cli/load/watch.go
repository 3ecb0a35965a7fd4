package load

import (
	"fmt"
	"io"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/load"
	view "plumb/internal/view/load"
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
func (v *verbs) watch(o *load.Options, d *drive, y *view.Sysbench) *watcher {
	w := &watcher{out: v.Out, interval: time.Duration(d.interval), limit: o.Time}
	if d.json {
		w.out = v.Err
	}
	threads := o.Threads
	w.line = view.Line(d.percentile)
	if y != nil {
		w.line = func(s load.Second) string { return y.Interval(s, threads) }
	} else if w.interval == 0 && shell.IsTerminal(v.Err) {
		w.screen = v.Err
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
		shell.Rewrite(w.screen, view.Progress(s, w.limit))
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
