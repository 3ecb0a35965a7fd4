package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/internal/units"
	view "plumb/internal/view/load"
)

// workload is one that is to be measured on a server.
type workload struct {
	name string
	book string // the file of the ledger of acknowledged commits; "" for none
	// begin makes it, and adds to the report what the workload knows; complete adds what it knows only when all is done.
	begin func(*durability.Ledger, *view.Report) (w load.Workload, complete func(*view.Report), err error)
}

// drive measures a workload on a server.
func (v *verbs) drive(ctx context.Context, s load.Server, d *drive, o load.Options, of workload) error {
	about, err := s.About(ctx)
	if err != nil {
		return err
	}
	ledger, err := durability.Begin(ctx, s, of.book, durability.Header{Target: about.Address + " " + about.Database, Seed: o.Seed, Workload: of.name})
	if err != nil {
		return err
	}
	r := view.Report{Server: &about}
	w, complete, err := of.begin(ledger, &r)
	if err == nil {
		run := func(o load.Options) (*load.Result, error) { return load.Run(ctx, w, o) }
		err = v.measure(ctx, run, o, d, r, complete)
	}
	return errors.Join(err, ledger.Close())
}

// measure runs a workload, shows the result, and gives the error that ends
// the program when it was not all it should be. make completes the report
// with what only the workload knows.
func (v *verbs) measure(ctx context.Context, run func(load.Options) (*load.Result, error), o load.Options, d *drive, r view.Report,
	complete func(*view.Report)) error {
	var y *view.Sysbench
	if d.report == "sysbench" {
		y = &view.Sysbench{Version: shell.Version(), Percentile: d.percentile, Files: r.Server == nil}
		if err := v.Print(y.Head(o.Threads, time.Duration(d.interval))); err != nil {
			return err
		}
	}
	watcher := v.watch(&o, d, y)
	res, err := run(o)
	watcher.done()
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted before anything was measured")
	}
	if err != nil {
		return err
	}
	r.Version, r.Result = shell.Version(), res
	if complete != nil {
		complete(&r)
	}
	if err := v.showRun(r, d, y); err != nil {
		return err
	}
	return runVerdict(ctx, r, d.strict)
}

func (v *verbs) showRun(r view.Report, d *drive, y *view.Sysbench) error {
	switch {
	case d.json:
		doc, err := view.Document(r)
		if err != nil {
			return err
		}
		return v.Document(doc)
	case y != nil:
		for _, m := range r.Result.Marks { // sysbench's report has no place for them
			fmt.Fprintln(v.Err, "warning: "+shell.OneLine(m.Text))
		}
		return v.Print(y.Report(r.Result))
	}
	return v.Print(view.Text(r, shell.Screen(v.Out)))
}

// runVerdict turns a result into the exit code.
func runVerdict(ctx context.Context, r view.Report, strict bool) error {
	res := r.Result
	switch {
	case res.Ended != nil:
		return fmt.Errorf("%s ended after %s: %w", res.Workload, units.Span(res.Measured), res.Ended)
	case ctx.Err() != nil:
		return fmt.Errorf("%s was interrupted after %s; the figures above were measured until then", res.Workload, units.Span(res.Measured))
	case strict && len(res.Marks) > 0:
		return shell.ErrMarked
	}
	return nil
}
