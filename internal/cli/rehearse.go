package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/rehearse/runner"
	"plumb/internal/stack"
	"plumb/internal/units"
)

const rehearseExitTable = `Exit codes:
  0  done, also when some of the advice does not help
  1  --strict, and a verdict is undecided
  2  the command line is wrong
  3  it could not be done, or did not go to its end`

// rehearseFlags are the flags of rehearse.
type rehearseFlags struct {
	shell.Source
	choice check.Choice
	labPlace
	file          string // a plan; "" for the one that a check makes now
	server        string
	sandbox       string // engine of a server that is made for it; "" for a live one
	serverVersion string // of it
	workload      string
	threads       int
	volume        string // profile
	memory        value.Size
	data          value.Size
	budget        time.Duration
	withoutOne    bool
	allowHost     bool
	fetch         bool
	search        bool
	dir           string
	resume        bool
	name          string // name of the rehearsal that --resume continues; "" for the last
	dryRun        bool
	plan          string // file for a plan of what is kept
	html          string
	force         bool
	json          bool
	strict        bool
}

func (a *app) rehearse() *cobra.Command {
	var f rehearseFlags
	c := &cobra.Command{
		Use:   "rehearse [PLAN]",
		Short: "measure in a sandbox how much each step of the advice helps here",
		Long: `Rehearse tries the advice of check before you follow it. It compares the server as
it is, with all advice, and with each step alone, in random order and block by
block, until the verdicts are certain or --max-time is over. For each step it
says whether it helps, makes no difference, harms, or is undecided, with intervals,
and what it costs. Advice that does not help is reported as such, however famous
it is.

The trials run on a private server of the same product and version, with the same
memory limit, on the filesystem that holds the server's data, or on a volume of its
own with the limits of --volume. Its data and memory are in the same proportion as
the real ones. The real server is only read, as check does. Everything made is
recorded beforehand and removed at the end. While it runs, the sandbox competes
with everything else here for CPU and disk: choose a quiet hour.

PLAN is a file that plumb check --plan wrote; without one the host is checked
first, and once or twice more in the sandbox with all advice applied: some advice
shows only then, and is tried on top of the rest. With --sandbox no server is
needed: one with the defaults of its distribution is made, put under load and
checked, and its advice is rehearsed.

If it is interrupted, it reports what was learned so far; --resume continues, also
after a crash. --plan writes for plumb fix what helps, what protects data whatever
it costs, and, if all advice together helps, also what there was no time to try
alone. With --search it contains better values where they are proven better than
all advice.

` + rehearseExitTable,
		Example: `  plumb rehearse --dry-run                        what would be tried, and how
  plumb rehearse --max-time 30m --plan keeps.json   then: plumb fix keeps.json
  plumb rehearse --server mysql:3306 --workload tpcc --html rehearsal.html
  plumb rehearse --sandbox postgres --volume gp3  no server needed
  plumb rehearse --resume`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return hint.Usage(fmt.Sprintf("plumb rehearse takes one plan, got %d", len(args)), "plumb check --plan FILE writes one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			f.argument(args)
			return a.runRehearse(c.Context(), f, c.Flags())
		},
	}
	f.flags(c)
	return c
}

// argument is a plan, or with --resume the name of a rehearsal.
func (f *rehearseFlags) argument(args []string) {
	if len(args) == 0 {
		return
	}
	if f.resume {
		f.name = args[0]
	} else {
		f.file = args[0]
	}
}

func (f *rehearseFlags) flags(c *cobra.Command) {
	f.LiveFlags(c)
	choiceFlags(c, &f.choice)
	f.ledgerFlag(c)
	f.StateFlag(c)
	fl := c.Flags()
	fl.StringVar(&f.Tape, "tape", "", "")
	c.Flags().Lookup("tape").Hidden = true // hidden, but known, so that an error can say why it does not work
	fl.StringVar(&f.server, "server", "", "rehearse the advice for this `SERVER`, such as mysql:3306; required if several are running")
	fl.StringVar(&f.sandbox, "sandbox", "", "make a server of this `ENGINE` with the defaults of its distribution, and rehearse what check advises for it: "+hint.OneOf(sandboxEngines()))
	fl.StringVar(&f.serverVersion, "server-version", "", "with --sandbox: `VERSION` of the server, such as 17 or 11.4; \"\" for the installed one")
	fl.BoolVar(&f.fetch, "fetch", false, "fetch a server version that is not installed from Maven Central")
	fl.StringVar(&f.workload, "workload", "", "run this `LOAD`: tpcc or one of sysbench's scripts (default oltp_read_write)")
	fl.IntVar(&f.threads, "threads", 0, "sessions of the load (default: as many as the server has, or 8)")
	fl.StringVar(&f.volume, "volume", "", "use a volume of its own with the limits of `PROFILE`, such as gp3, p15 or iops=200,mbps=100, instead of the server's filesystem")
	fl.Var(&f.memory, "memory", "memory limit of the sandbox's server (default 4G, or 1G with --sandbox)")
	fl.Var(&f.data, "data", "size limit of the load's data (default 2G, or 512M with --sandbox)")
	fl.DurationVar(&f.budget, "max-time", 20*time.Minute, "end within this time")
	fl.BoolVar(&f.withoutOne, "without-one", false, "compare all advice with all but one step, instead of each step alone with the server as it is")
	fl.BoolVar(&f.allowHost, "allow-host", false, "also try settings of the whole machine, and restore them after each trial")
	fl.BoolVar(&f.search, "search", false, "afterwards search for the best values of the few numeric settings, in what is left of --max-time")
	fl.StringVar(&f.dir, "dir", "", "make the sandbox below `DIR` (default: on the filesystem of the server's data)")
	fl.BoolVar(&f.resume, "resume", false, "continue the last unfinished rehearsal, or the named one")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show what would be tried, how long it takes and what it needs, and do nothing")
	fl.StringVar(&f.plan, "plan", "", "write the plan of what is kept, as JSON, to `FILE`, replacing its contents")
	fl.StringVar(&f.html, "html", "", "also write one self-contained page to `FILE`")
	fl.BoolVar(&f.force, "force", false, "replace an existing file of --html")
	shell.JSONFlag(c, &f.json, "")
	fl.BoolVar(&f.strict, "strict", false, "exit 1 when a verdict is undecided")
	shell.Offer(c, map[string]shell.Words{"sandbox": sandboxEngines, "workload": runner.Workloads})
}

// sandboxEngines lists the servers that a lab can make.
func sandboxEngines() (names []string) {
	for _, e := range engines() {
		names = append(names, e.Names()...)
	}
	return names
}

// leastBudget is the least time in which a rehearsal can do anything.
const leastBudget = 30 * time.Second

// validate is a usage error if the flags make no sense.
func (f rehearseFlags) validate() error {
	if f.Tape != "" {
		return hint.Usage("a rehearsal runs on the machine itself, so it cannot use a tape",
			"plumb check --tape "+f.Tape+" --plan plan.json, then plumb rehearse plan.json on that host")
	}
	if err := f.validateSandbox(); err != nil {
		return err
	}
	if f.workload != "" && !slices.Contains(runner.Workloads(), f.workload) {
		return hint.Usage(fmt.Sprintf("--workload %s is not a workload", f.workload), cmp.Or(hint.Meant(f.workload, runner.Workloads()), "use "+hint.OneOf(runner.Workloads())))
	}
	if _, err := experiment.ParseProfile(f.volume); err != nil {
		return hint.Usage("--volume: "+err.Error(), "use gp2, gp3, io1, io2, p4 to p50, hdd, or limits such as iops=200,mbps=100")
	}
	if f.server != "" {
		if _, err := stack.ParseRef(f.server); err != nil {
			return hint.Usage("--server: "+err.Error(), "plumb stack shows what there is")
		}
	}
	switch {
	case f.threads < 0:
		return hint.Usage(fmt.Sprintf("--threads %d is not a number of sessions", f.threads), "use 1 or more")
	case f.json && f.dryRun:
		return hint.Usage("a dry run is shown only as text: --dry-run and --json cannot be combined", "give one of them")
	case f.budget < leastBudget:
		return hint.Usage(fmt.Sprintf("--max-time %s leaves no time for a trial", units.Short(f.budget)), "give something like --max-time 20m")
	}
	if err := f.validateFiles(); err != nil {
		return err
	}
	return f.Source.Validate()
}

// validateFiles sees that what is written in the end has a place, before
// anything is measured.
func (f rehearseFlags) validateFiles() error {
	if err := shell.RoomFor("--plan", f.plan, true); err != nil {
		return err
	}
	return shell.RoomFor("--html", f.html, f.force)
}

// validateSandbox is a usage error for flags that do not go with a server that is made.
func (f rehearseFlags) validateSandbox() error {
	switch {
	case f.sandbox == "" && f.serverVersion != "":
		return hint.Usage("--server-version is only for --sandbox: a running server has its own version", "add --sandbox ENGINE")
	case f.sandbox == "":
		return nil
	case !slices.Contains(sandboxEngines(), f.sandbox):
		return hint.Usage(fmt.Sprintf("--sandbox %s is not a server that can be made here", f.sandbox), cmp.Or(hint.Meant(f.sandbox, sandboxEngines()), "use "+hint.OneOf(sandboxEngines())))
	case f.file != "":
		return hint.Usage("a plan is for servers of this host, but --sandbox makes one of its own", "give one of them")
	}
	for _, live := range []struct {
		given bool
		what  string
	}{{f.server != "", "--server names a live server"}, {f.DSN != "", "--dsn logs in to a live server"}, {len(f.choice.Only) > 0, "--only names what is on this host"}} {
		if live.given {
			return hint.Usage(live.what+", and --sandbox makes one of its own", "give one of them")
		}
	}
	return nil
}
