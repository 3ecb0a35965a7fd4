// Package runner carries a rehearsal out. It reads the host, lets package
// rehearse propose the experiments, hands them to the lab within the budget, and
// keeps what it takes to go on with a rehearsal that was cut off. What comes out is
// a rehearse.Result; cli wires the adapters in, and shows it.
package runner

import (
	"context"
	"slices"
	"time"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/load/oltp"
	"plumb/internal/rehearse"
	"plumb/internal/stack"
)

// Options are what a person asks of a rehearsal.
type Options struct {
	Server     string // of this host, such as mysql:3306; "" where it has only one
	Sandbox    string // engine of a server that is made, in place of one of this host
	Version    string // of that server; "" for the installed one
	Workload   string
	Threads    int
	Volume     string           // profile
	Memory     experiment.Bytes // that the sandbox's server may take; 0 for what is usual
	Data       experiment.Bytes // that the load may have; 0 for what is usual
	Budget     time.Duration    // of a rehearsal that is gone on with: 0 for what it had
	WithoutOne bool
	AllowHost  bool // settings of the whole machine may be changed, and put back
	Fetch      bool // server versions may be fetched
	Search     bool // for the best numbers, after the stages
	Chosen     bool // the plan is what a person chose: check is not asked for more
	Dir        string
	Ledger     string // of a rehearsal that is gone on with: "" for the one it had
	Plan       string // file for what is kept; not written here, only remembered
	Page       string // file for a page; the same
	Replace    bool   // the page replaces a file that is there
}

// Ports are what a rehearsal needs of the world.
type Ports struct {
	Know    check.Knowledge
	Live    *host.LiveDoer
	Volumes lab.VolumeMaker
	Engines []lab.Engine
	Books   string                                                   // directory of what labs made, and of what is known of rehearsals
	Read    func(context.Context) (*stack.Stack, error)              // reads this host
	Advice  func(*stack.Stack) (advise.Plan, error)                  // that is rehearsed
	Capture func(context.Context) ([]byte, error)                    // records this host, with the lab's servers on it, on a tape
	Replay  func(context.Context, host.Reader) (*stack.Stack, error) // reads such a tape
	Watch   Watcher
}

// Watcher is told how a rehearsal goes.
type Watcher interface {
	Begin(what string) // an experiment, and what it is for
	Progress(lab.Progress)
	Tell(text string)
	Searched(rehearse.Search) // after each round
}

// bulkInsert measures loading, and leaves a table that no two trials share.
const bulkInsert = "bulk_insert"

// Workloads are the loads a rehearsal can drive.
func Workloads() []string {
	scripts := slices.DeleteFunc(slices.Clone(oltp.Scripts()), func(s string) bool { return s == bulkInsert })
	return append([]string{experiment.TPCC}, scripts...)
}
