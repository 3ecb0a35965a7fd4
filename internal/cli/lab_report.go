package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/lab/ledger"
	"plumb/internal/lab/report"
	labview "plumb/internal/view/lab"
)

// labReporting are the flags of lab report.
type labReporting struct {
	labPlace
	html  string
	csv   bool
	json  bool
	force bool
}

func (a *app) labReport() *cobra.Command {
	var f labReporting
	c := &cobra.Command{
		Use:   "report [EXPERIMENT]",
		Short: "show the result of an experiment",
		Long: `Report evaluates the trials of an experiment in the ledger: the one with this name,
or whose hash begins like this; without one, the last that ran. It also works while
the lab is still running.

--html writes one self-contained file: question, answer, intervals, charts, what
does not count and why, the whole set-up, and the command that repeats it.

` + labExitTable,
		Example: `  plumb lab report
  plumb lab report sync-binlog --html sync-binlog.html
  plumb lab report sync-binlog --csv > trials.csv`,
		Args: shell.AtMostOneArg("experiment"),
		RunE: func(c *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return a.runLabReport(c.Context(), name, f)
		},
	}
	f.ledgerFlag(c)
	fl := c.Flags()
	fl.StringVar(&f.html, "html", "", "write one self-contained page to `FILE`")
	fl.BoolVar(&f.csv, "csv", false, "print one line for each trial")
	shell.JSONFlag(c, &f.json, "")
	fl.BoolVar(&f.force, "force", false, "replace an existing file of --html")
	c.MarkFlagsMutuallyExclusive("html", "csv", "json")
	return c
}

func (a *app) runLabReport(ctx context.Context, name string, f labReporting) (err error) {
	store, err := ledger.OpenExisting(ctx, f.ledger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	r, err := store.Report(ctx, name)
	if err != nil {
		return err
	}
	cat, err := a.loadCatalog()
	if err != nil {
		return err
	}
	report.AddRisks(&r, cat)
	switch {
	case f.html != "":
		return a.writeReport(r, f)
	case f.csv:
		return a.Print(labview.CSV(r))
	}
	return a.showReport(r, f.json)
}

func (a *app) showReport(r report.Report, asJSON bool) error {
	return a.Answer(asJSON, labview.Document(r, shell.Version()), labview.Text(r, shell.Screen(a.Out)))
}

func (a *app) writeReport(r report.Report, f labReporting) error {
	about := labview.About{Version: shell.Version()}
	if n := len(r.Records); n > 0 {
		about.Machine = r.Records[n-1].Machine
	}
	page, err := labview.HTML(r, about)
	if err != nil {
		return err
	}
	return a.WritePage(f.html, f.force, page)
}

func (a *app) labList() *cobra.Command {
	var p labPlace
	c := &cobra.Command{
		Use:     "list",
		Short:   "list the experiments of a ledger",
		Long:    "List shows the experiments that a ledger has trials of.\n\n" + labExitTable,
		Example: "  plumb lab list --ledger postgres://lab@db1/lab",
		Args:    shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			store, err := ledger.OpenExisting(c.Context(), p.ledger)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			all, err := store.Experiments(c.Context())
			if err != nil {
				return err
			}
			return a.Print(labview.Experiments(all, shell.Screen(a.Out)))
		},
	}
	p.ledgerFlag(c)
	return c
}
