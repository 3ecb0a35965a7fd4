package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/inventory/kinds"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/lab/report"
	"plumb/internal/units"
	inventoryview "plumb/internal/view/inventory"
	labview "plumb/internal/view/lab"
)

// labRunning are the flags of lab run.
type labRunning struct {
	labPlace
	dir       string
	resume    bool
	dryRun    bool
	fetch     bool
	allowHost bool
	noCapture bool
	strict    bool
	json      bool
}

func (a *app) labRun() *cobra.Command {
	var f labRunning
	c := &cobra.Command{
		Use:   "run FILE",
		Short: "run an experiment, or resume one",
		Long: `Run checks the experiment file and whether this machine has what it needs, and
carries it out: each trial gets a fresh copy of the data, the volume's limits are
measured first, the server's settings are read back from it, and the result goes
into the ledger. It stops when the intervals are as narrow as the file asks, all
blocks are done, or the time budget is used up.

If it was interrupted or killed at any moment, --resume continues: trials that
ended are kept, the one that was cut off is repeated.

` + labExitTable,
		Example: `  plumb lab run experiments/aa.yaml --dry-run
  plumb lab run experiments/doublewrite.yaml --dir /mnt/fast
  plumb lab run experiments/doublewrite.yaml --resume`,
		Args: shell.OneArg("experiment file"),
		RunE: func(c *cobra.Command, args []string) error { return a.runLab(c.Context(), args[0], f) },
	}
	f.ledgerFlag(c)
	f.StateFlag(c)
	fl := c.Flags()
	fl.StringVar(&f.dir, "dir", "/var/tmp", "make volumes and data below `DIR`")
	fl.BoolVar(&f.resume, "resume", false, "continue an experiment that has trials in the ledger, after removing what killed labs left")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show the trials, how long they take and what they need, and do nothing")
	fl.BoolVar(&f.fetch, "fetch", false, "fetch server versions that are not installed from Maven Central")
	fl.BoolVar(&f.allowHost, "allow-host", false, "let the experiment change settings of the whole machine, and restore them after each trial")
	fl.BoolVar(&f.noCapture, "no-capture", false, "do not record the full stack with each trial")
	fl.BoolVar(&f.strict, "strict", false, "exit 1 when the answer is undecided or a trial does not count")
	shell.JSONFlag(c, &f.json, "")
	return c
}

func (a *app) runLab(ctx context.Context, file string, f labRunning) (err error) {
	if f.json && f.dryRun {
		return hint.Usage("a dry run is shown only as text: --dry-run and --json cannot be combined", "give one of them")
	}
	x, err := openExperiment(file)
	if err != nil {
		return err
	}
	doer := shell.Machine()
	defer func() { err = errors.Join(err, doer.Close()) }()
	cat, err := a.loadCatalog()
	if err != nil {
		return err
	}
	l, err := lab.New(ctx, doer, f.dir, f.making(cat))
	if err != nil {
		return err
	}
	needs, err := l.Need(ctx, x)
	if err != nil {
		return fmt.Errorf("experiment %s: %w", x.Name, err)
	}
	if f.dryRun {
		return a.Print(labview.Plan(labview.PlanOf(x, needs), shell.Screen(a.Out)))
	}
	r, err := a.carryOut(ctx, x, l, f)
	if len(r.Records) > 0 {
		report.AddRisks(&r, cat)
		err = errors.Join(err, a.showReport(r, f.json))
	}
	if err == nil && f.strict && doubtful(r) {
		return shell.ErrMarked
	}
	return err
}

// making returns the lab that the flags ask for.
func (f labRunning) making(cat *catalog.Catalog) lab.Lab {
	l := lab.Lab{Medium: volumeMaker(), Engines: engines(), Plumb: shell.Version(), Fetch: f.fetch, Host: f.allowHost}
	if !f.noCapture {
		l.Capture = captureStack(cat)
	}
	return l
}

// doubtful tells whether a report does not answer its question.
func doubtful(r report.Report) bool {
	return len(r.Invalid) > 0 || slices.ContainsFunc(r.Verdicts, func(v report.Comparison) bool { return v.Word == report.Undecided })
}

func openExperiment(file string) (experiment.Experiment, error) {
	text, err := shell.ReadFile(file, nil, shell.MostFile)
	if err != nil {
		return experiment.Experiment{}, hint.With(fmt.Errorf("read the experiment %s: %w", file, err), "the project's experiments/ has examples; plumb schema experiment describes the form")
	}
	x, err := experiment.Parse(file, text)
	if err != nil {
		return x, hint.Usage(err.Error(), "plumb schema experiment describes the form")
	}
	return x, nil
}

// carryOut opens what a run needs, runs, and removes everything again.
func (a *app) carryOut(ctx context.Context, x experiment.Experiment, l *lab.Lab, f labRunning) (r report.Report, err error) {
	books, err := f.Books()
	if err != nil {
		return r, err
	}
	store, err := ledger.Open(ctx, f.ledger)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := f.mayBegin(ctx, x, store); err != nil {
		return r, err
	}
	if f.resume {
		swept, err := kinds.Books(l.Box.Do, books).Sweep(ctx)
		if len(swept) > 0 {
			fmt.Fprint(a.Err, inventoryview.Swept(swept, shell.Screen(a.Err)))
		}
		if err != nil {
			return r, err
		}
	}
	end, err := l.Begin(ctx, books)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, end()) }()
	w := a.labWatch()
	defer w.done()
	l.Ledger, l.Watch = store, w.Progress
	return l.Run(ctx, x)
}

// mayBegin is an error if a new run would be mixed with an old one and no flag asks for that.
func (f labRunning) mayBegin(ctx context.Context, x experiment.Experiment, store *ledger.Ledger) error {
	records, err := store.Records(ctx, x.Hash)
	if err != nil || len(records) == 0 || f.resume {
		return err
	}
	return hint.With(fmt.Errorf("the ledger %s has %s of this experiment already", ledger.Apart(f.ledger), units.Count(len(records), "trial")),
		"--resume continues them; another --ledger begins afresh")
}
