package rehearse

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/stack"
	"plumb/internal/stats"
	"plumb/internal/view/viewtest"
)

// The sample is no real rehearsal: its verdicts are made by hand so that each
// word is there, and its trials come out of a generator.

func part(value, low, high float64) stats.Estimate {
	return stats.Estimate{Value: value, Low: low, High: high, N: 4}
}

// rehearsedSteps are a step for each verdict there is.
func rehearsedSteps() []rehearse.Step {
	step := func(number int, of stack.Ref, knob string, from, to stack.Value, effect catalog.Effect, why string, because string) rehearse.Step {
		return rehearse.Step{Number: number, Step: advise.Step{Knob: stack.Knob{Of: of, Name: knob}, From: from, To: to, Because: because, Why: []string{why}, Effect: effect, DurabilityFrom: catalog.Safe, DurabilityTo: catalog.Safe}}
	}
	db, data, host := stack.Ref{Kind: "mysql", Name: "3306"}, stack.Ref{Kind: "dataset", Name: "tank/db/data"}, stack.Ref{Kind: "host", Name: "db1"}
	all := []rehearse.Step{
		step(1, db, "innodb_buffer_pool_size", stack.Int(128<<20), stack.Int(6<<30), catalog.Now, "mysql/buffer-pool-default", "the buffer pool has its default size"),
		step(2, db, "sync_binlog", stack.Int(0), stack.Int(1), catalog.Now, "mysql/sync-binlog-off", "sync_binlog is 0"),
		step(3, db, "innodb_io_capacity", stack.Int(200), stack.Int(2000), catalog.Now, "cross/mysql-io-capacity-low", "innodb_io_capacity is below what the volume gives"),
		step(4, data, "recordsize", stack.Int(131072), stack.Int(16384), catalog.NewWrites, "cross/zfs-recordsize-innodb", "16K pages are kept in 128K records"),
		step(5, db, "innodb_log_file_size", stack.Int(96<<20), stack.Int(4<<40), catalog.Restart, "mysql/redo-too-small", "the redo log is small"),
		step(6, db, "innodb_flush_neighbors", stack.Int(1), stack.Int(0), catalog.Now, "cross/mysql-flush-neighbors", "neighbours are flushed on a disk that does not turn"),
		step(7, host, "vm_swappiness", stack.Value{}, stack.Int(1), catalog.Now, "cross/kernel-swappiness-high", "vm.swappiness is high"),
	}
	all[0].Scaled, all[1].DurabilityFrom, all[1].Safety = "16M and 768M, an eighth", catalog.MayLose, true
	all[6].Left = "a setting of the whole machine: --allow-host tries it"
	for i := range all[:6] {
		s := &all[i]
		s.Arm, s.Path, s.Value = fmt.Sprintf("%s %s", s.Knob.Name, s.To), "server.settings."+s.Knob.Name, s.To.String()
	}
	all[3].Path = "volume.properties.recordsize"
	return all
}

// stages are made once: judging their records takes a while.
var stages sync.Map

type madeStage struct {
	stage  rehearse.Stage
	report report.Report
}

func sampleStage(name string, arms []string, blocks int) (rehearse.Stage, report.Report) {
	key := fmt.Sprint(name, blocks)
	made, ok := stages.Load(key)
	if !ok {
		s, r := makeStage(name, arms, blocks)
		made, _ = stages.LoadOrStore(key, madeStage{s, r})
	}
	m := made.(madeStage)
	m.stage.Experiment.Arms = slices.Clone(m.stage.Experiment.Arms)
	return m.stage, m.report
}

// makeStage is an experiment with records; sampleArms gives their rates.
func makeStage(name string, arms []string, blocks int) (rehearse.Stage, report.Report) {
	x := viewtest.SampleExperiment()
	made := x
	x.Name, x.Question, x.Source, x.Published, x.Axes, x.Notes, x.Arms, x.Pairs = "rehearse-"+name, "Does the advice help mysql:3306?", "", nil, nil, "", nil, nil
	for i, arm := range arms {
		a := made.Arms[i]
		a.Name, a.Levels, a.Setup.Volume.Profile, a.Setup.Load.Script = arm, nil, "", "oltp_read_write"
		made.Arms[i] = a
		x.Arms = append(x.Arms, a)
		if arm != rehearse.AsIs {
			x.Pairs = append(x.Pairs, experiment.Pair{Arm: arm, Baseline: rehearse.AsIs})
		}
	}
	x.Text = []byte("experiment: rehearse-" + name + "\n")
	rng := rand.New(rand.NewPCG(3, uint64(len(arms))))
	var records []experiment.Record
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	for b := 1; b <= blocks; b++ {
		for pos, i := range rng.Perm(len(arms)) {
			r := viewtest.SampleRecord(made, i, 1+0.03*rng.NormFloat64(), rng)
			r.Block, r.Position, r.Seed, r.Began, r.Ended = b, pos+1, uint64(b), at, at.Add(28*time.Second)
			r.ID = fmt.Sprintf("%s-%d-%d", name, b, pos+1)
			at = at.Add(30 * time.Second)
			if b == 2 && pos == 1 {
				part := 0.31
				r.Lent(&part)
			}
			records = append(records, r)
		}
	}
	return rehearse.Stage{Name: name, Experiment: x, Text: x.Text}, report.Make(x, records)
}

func sampleRehearsal() rehearse.Result {
	steps := rehearsedSteps()
	p := rehearse.Proposal{Server: stack.Ref{Kind: "mysql", Name: "3306"}, Engine: "mariadb", Title: "MariaDB 10.11.14 on ZFS", Scale: 0.125, Steps: steps,
		Says: []string{"It has 1G of memory where the server has 8G, and 512M of data where the server has 4G: as much for each byte of memory.", "It lies in a dataset of its own in the pool tank, with the properties of tank/db/data.", "plugin_load is left out: a plugin may not be there."}}
	one, all := sampleStage("all", []string{rehearse.AllAdvice, rehearse.AsIs}, 4)
	two, each := sampleStage("steps", []string{steps[0].Arm, rehearse.AsIs, steps[1].Arm, steps[2].Arm, steps[3].Arm}, 3)
	p.Stages = []rehearse.Stage{one, two}
	costs := []rehearse.Cost{{Layer: "device", Name: "read", Unit: "B/op", Before: part(48<<10, 46<<10, 50<<10), After: part(2, 1, 3)},
		{Layer: "server", Name: "CPU", Unit: "us/op", Before: part(410, 400, 420), After: part(398, 380, 415)},
		{Layer: "device", Name: "flushes", Unit: "1/op", Before: part(0.2, 0.19, 0.21), After: part(0.91, 0.9, 0.92)}}
	r := rehearse.Result{Proposal: p, Reports: []report.Report{all, each}, Took: 14 * time.Minute, Ended: "all is decided", Plan: advise.Plan{Plumb: 1, Kind: "plan", Steps: []advise.Step{steps[0].Step, steps[1].Step, steps[3].Step}},
		All: rehearse.Verdict{Arm: rehearse.AllAdvice, Word: rehearse.Helps, Rate: part(1.42, 1.20, 1.66), P99: part(-0.61, -0.70, -0.50), Costs: costs, Keep: true}}
	add := func(v rehearse.Verdict) {
		v.Step = &steps[len(r.Steps)]
		v.Arm = v.Step.Arm
		r.Steps = append(r.Steps, v)
	}
	add(rehearse.Verdict{Word: rehearse.Helps, Rate: part(1.28, 1.10, 1.48), P99: part(-0.58, -0.66, -0.48), Costs: costs[:2], Keep: true})
	add(rehearse.Verdict{Word: rehearse.Harms, Rate: part(-0.31, -0.35, -0.27), P99: part(0.40, 0.31, 0.50), Costs: costs[2:], Keep: true, Why: "kept, though it costs speed: committed transactions can be lost without it"})
	add(rehearse.Verdict{Word: rehearse.NoDifference, Within: 0.05, Rate: part(0.004, -0.02, 0.03), P99: part(0.01, -0.03, 0.04), Why: "it makes no difference here"})
	add(rehearse.Verdict{Word: rehearse.Undecided, More: 4, Rate: part(0.09, -0.04, 0.24), P99: stats.Estimate{}, Keep: true, Why: "kept: alone undecided after 3 blocks (−4.0 to +24 %); about 4 more blocks would decide it; but with all advice the device writes 5.2 KiB a transaction, and the steps that help alone explain no less than 43.4 KiB"})
	add(rehearse.Verdict{Word: rehearse.Harms, Failed: "the server did not start: innodb_log_file_size is larger than the filesystem", Why: "the server does not run with it"})
	add(rehearse.Verdict{Word: rehearse.Undecided, Rate: stats.Estimate{Value: 0.02, N: 1}, P99: stats.Estimate{Value: -0.1, N: 1}})
	add(rehearse.Verdict{Word: rehearse.NotTried, Why: "not tried"})
	r.Steps[6].Why = ""
	return r
}

// interruptedRehearsal ended in the first stage, with one block.
func interruptedRehearsal() rehearse.Result {
	r := sampleRehearsal()
	r.Ended, r.Took, r.Plan.Steps, r.Proposal.Scale = "interrupted", 95*time.Second, nil, 1
	stage, rep := sampleStage("all", []string{rehearse.AllAdvice, rehearse.AsIs}, 1)
	r.Proposal.Stages[0], r.Reports = stage, []report.Report{rep}
	r.All = rehearse.Verdict{Arm: rehearse.AllAdvice, Word: rehearse.Undecided, More: 2, Rate: stats.Estimate{Value: 1.1, Low: rep.Verdicts[0].Effect.Low, High: rep.Verdicts[0].Effect.High, N: 1}}
	for i := range r.Steps {
		v := rehearse.Verdict{Step: r.Steps[i].Step, Arm: r.Steps[i].Arm, Word: rehearse.Undecided, Why: "nothing is known of it yet"}
		if v.Step.Left != "" {
			v.Word, v.Why = rehearse.NotTried, ""
		}
		r.Steps[i] = v
	}
	return r
}

// nothingTried has only steps that a sandbox cannot try.
func nothingTried() rehearse.Result {
	r := sampleRehearsal()
	r.Proposal.Steps, r.Steps = r.Proposal.Steps[6:], r.Steps[6:]
	r.Proposal.Stages, r.Reports, r.Took, r.Ended, r.All, r.Plan.Steps = nil, nil, 0, "", rehearse.Verdict{Word: rehearse.NotTried}, nil
	return r
}

// refusedRehearsal is of a server that runs with all advice but one step.
func refusedRehearsal() rehearse.Result {
	r := sampleRehearsal()
	r.All.Arm, r.All.Refused = "all advice but innodb_log_file_size = 4T", "the server did not start: innodb_log_file_size is larger than the filesystem"
	return r
}

// brokenRehearsal is of a default server that does not run with all advice.
func brokenRehearsal() rehearse.Result {
	r := sampleRehearsal()
	r.Proposal.Server, r.Proposal.Says, r.Proposal.Title = stack.Ref{}, nil, "PostgreSQL 15.18 on ext4"
	r.All = rehearse.Verdict{Arm: rehearse.AllAdvice, Word: rehearse.Harms, Failed: "the server crashed: signal 9"}
	return r
}
