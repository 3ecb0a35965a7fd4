// Package rehearse turns advice into an experiment and its outcome into a
// verdict on each step: what it brings for this server, on this storage, under
// a load like its own, with an interval.
//
// It is pure. Propose makes the experiments from what was read of a host and
// from the plan that check made; package lab carries them out; Judge reads the
// reports. Nothing here touches a machine.
package rehearse

import (
	"time"

	"plumb/internal/advise"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/stack"
	"plumb/internal/stats"
)

// Want is what a person asks of a rehearsal. The zero value of a field leaves
// the choice to Propose.
type Want struct {
	Server     stack.Ref         // the server the plan is for; zero where the host has only one
	Workload   string            // tpcc, or one of sysbench's OLTP scripts, such as oltp_read_write
	Threads    int               // of the load
	Dir        string            // the sandbox is made below it; "" for the place that Place finds
	Room       int64             // bytes that are free in Dir; 0 where that is not known
	Volume     string            // a profile, such as gp3 or iops=200: a volume of its own, limited so; "" for the server's own filesystem
	Memory     experiment.Bytes  // the sandbox may take: least of this, the server's own limit, and what is free
	Data       experiment.Bytes  // the most data a sandbox is loaded with
	Loaded     bool              // Data are loaded already, and stay as large as they are whatever the budget
	Budget     time.Duration     // for everything
	WithoutOne bool              // compare all advice with all but one step, in place of as is with each step alone
	Host       bool              // steps that change the whole machine may be tried, and are put back
	Settings   map[string]string // settings of the server as it is, in place of what is read; for tests and --sandbox
	Like       *experiment.Setup // what the sandbox is like, in place of the server: volume, program, memory and load; nil but for --sandbox
}

// Step is a step of the plan and how it is tried.
type Step struct {
	advise.Step
	Number     int    // in the plan, from 1
	Arm        string // its arm in the experiments; "" when it is not tried
	Called     string // what it sets, with those it is tried with: its arm where it is tried by itself; "" when it is not in all advice
	With       []int  // numbers of the steps that are tried in the same arm, because the same rules ask for them
	Path       string // what it sets there: server.settings.innodb_buffer_pool_size, volume.properties.recordsize, host.vm.swappiness
	Value      string // as the configuration file writes it
	Scaled     string // how the value differs from the plan's in a smaller sandbox, for people; "" when it does not
	Left       string // why it is not tried; "" when it is
	Importance        // what the rules that ask for it are about
}

// Importance is what a rule is about.
type Importance struct {
	Safety bool // lost data or an outage: its steps are kept whatever they bring
	Gain   int  // how much speed it promises, by the rule's own word: more is more, 0 when nothing is known
}

// Stage is one experiment of a rehearsal.
type Stage struct {
	Name       string                // "all" or "steps"; StageAlone or StageBut
	Experiment experiment.Experiment // parsed from Text
	Text       []byte                // the experiment file, as plumb lab run takes it
	AtOnce     int                   // servers that can be up at once and take turns; 1: trials are one after the other
}

// Proposal is a rehearsal that can be carried out.
type Proposal struct {
	Server  stack.Ref `json:",omitzero"` // zero: one that was made for the rehearsal, and is gone
	Engine  string    // mariadb, mysql, percona, postgres
	Title   string    // "MariaDB 10.11.14 on ext4"
	Dataset stack.Ref `json:",omitzero"` // that holds the server's data, where the sandbox is on ZFS as they are
	Memory  int64     // bytes that the server may take; 0: not known
	Dir     string    // the sandbox is made below it: Want.Dir, or what Place found; "" when it does not matter
	Data    int64     // bytes that the load's data were held to
	Scale   float64   // the sandbox's memory and data as a part of the server's; 1 when the same
	Says    []string  // what the sandbox is like, and how it differs from the real thing: one sentence each
	Steps   []Step    // all of the plan, in its order
	Plan    advise.Plan
	Stages  []Stage // in the order in which to run them: the first decides about all advice together
}

// Names of arms that every rehearsal has.
const (
	AsIs      = "as is"
	AllAdvice = "all advice"
)

// Words of a verdict.
const (
	Helps        = "helps"
	NoDifference = "no difference"
	Harms        = "harms"
	Undecided    = "undecided"
	NotTried     = "not tried"
	WithAll      = "with all advice" // not tried alone, and all advice together helps
)

// Proven is what a plan and a page say of a step that is WithAll.
const Proven = "proven with all advice, not alone"

// Verdict is what a rehearsal showed of one step, or of all together.
type Verdict struct {
	Step   *Step // nil: all advice
	Arm    string
	Word   string
	Rate   stats.Estimate // transactions a second: ratio to the baseline less one, 95 % interval
	P99    stats.Estimate // response time: the same; below zero is faster
	Within float64        // of NoDifference: within ± this part
	More   int            // of Undecided: blocks that would probably decide it
	Failed string         // the server refused it, crashed or lost rows with it: then Word is Harms
	Costs  []Cost         // per operation, as is and with it, where both are known
	Keep   bool           // it is in the plan that --plan writes
	Why    string         // of Keep, or of its opposite, for people

	onTop bool // it compares all advice with all but this step

	// Refused is why the server cannot be used with all advice, where the
	// verdict is of all advice but the steps that it refuses: Arm names them.
	Refused string
}

// Cost is one cost per operation, in the baseline and in the arm.
type Cost struct {
	Layer, Name, Unit string
	Before, After     stats.Estimate
}

// Result is a rehearsal with its verdicts.
type Result struct {
	Proposal Proposal
	All      Verdict         // all advice together
	Steps    []Verdict       // in the order of the plan
	Plan     advise.Plan     // what is kept
	Reports  []report.Report // of the stages that were begun
	Took     time.Duration
	Ended    string  // why it ended: "all is decided", "--max-time is over", "interrupted"
	Search   *Search // for better numbers; nil: none was asked for, or there was no time
}
