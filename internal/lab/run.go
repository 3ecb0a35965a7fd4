package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/osrelease"
	"plumb/internal/host/proc"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/units"
)

// Ledger keeps what trials leave.
type Ledger interface {
	Define(ctx context.Context, x experiment.Experiment, plumb string) error
	Begin(ctx context.Context, r experiment.Record) error
	Finish(ctx context.Context, r experiment.Record) error
	Records(ctx context.Context, hash string) ([]experiment.Record, error)
	Put(ctx context.Context, data []byte) (sha string, err error)
	Lock(ctx context.Context, hash string) (unlock func() error, err error)
}

// Lab carries out experiments. All fields but those said to be optional must
// be set.
type Lab struct {
	Box     Workspace
	Medium  VolumeMaker
	Engines []Engine
	Ledger  Ledger
	UID     int // the servers run as, and the data belongs to
	GID     int
	Plumb   string                                    // version, for the records
	Fetch   bool                                      // server versions may be fetched
	Host    bool                                      // settings of the whole machine may be changed, and put back
	Capture func(ctx context.Context) ([]byte, error) // the full stack as a tape, taken while the server runs; optional
	Late    bool                                      // it is taken near the end of the load, with what the load did to the server, in place of before
	Keep    bool                                      // volumes and their data stay for the next experiment that has the same, until Close
	Watch   func(Progress)                            // told what goes on; optional

	layouts map[layoutKey]*layout
	volumes int // made so far
	report  report.Report
	file    experiment.Experiment
	before  int           // trials in the ledger when this run began
	spent   time.Duration // on trials of this run
	machine []string
}

// Progress is what goes on.
type Progress struct {
	Trial   experiment.Trial // Block 0: the data is being made
	Number  int              // of the trial among all that are still expected
	Total   int
	Doing   string        // "copying the data", "warming up", "measuring"
	Elapsed time.Duration // of Doing
	Of      time.Duration // how long Doing takes; 0 when unknown
	Left    time.Duration // until all is done; 0 when unknown
	Report  report.Report // so far
}

// Run carries out an experiment, or goes on with it where the ledger ends.
// An arm that cannot be set up is marked and the others go on. An error means
// that the experiment could not go on at all; what is in the ledger stays.
func (l *Lab) Run(ctx context.Context, x experiment.Experiment) (r report.Report, err error) {
	unlock, err := l.Ledger.Lock(ctx, x.Hash)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := l.Ledger.Define(ctx, x, l.Plumb); err != nil {
		return r, err
	}
	records, err := l.Ledger.Records(ctx, x.Hash)
	if err != nil {
		return r, err
	}
	l.file, l.before, l.spent, l.machine = x, len(records), 0, machine(ctx, l.Box.Do)
	if err := l.closeLayouts(context.WithoutCancel(ctx), x); err != nil {
		return r, err
	}
	if !l.Keep {
		defer func() { err = errors.Join(err, l.Close(context.WithoutCancel(ctx))) }()
	}
	for {
		more, _ := report.Next(x, records)
		l.report = report.Make(x, records)
		if !more {
			return l.report, nil
		}
		for _, trials := range groups(x, records) {
			began := time.Now()
			done, err := l.record(ctx, x, trials, records)
			l.spent += time.Since(began)
			records = append(records, done...)
			if err != nil {
				return report.Make(x, records), err
			}
			l.report = report.Make(x, records)
		}
	}
}

// Close takes away the volumes that were kept. What a run without Keep made has
// gone already.
func (l *Lab) Close(ctx context.Context) error { return l.closeLayouts(ctx, experiment.Experiment{}) }

// groups gives the trials that the block at hand lacks, as they are carried
// out: one by one, or those of a switched or an interleaved block together.
func groups(x experiment.Experiment, records []experiment.Record) (open [][]experiment.Trial) {
	lacking := report.Missing(x, records)
	if x.Together() && len(lacking) > 0 {
		return [][]experiment.Trial{lacking}
	}
	for _, t := range lacking {
		open = append(open, []experiment.Trial{t})
	}
	return open
}

func attempts(records []experiment.Record, t experiment.Trial) (n int) {
	for _, r := range records {
		if r.Arm == t.Arm && r.Block == t.Block {
			n++
		}
	}
	return n
}

// record carries one trial out, or those of a block that go together, and keeps
// what came of it. Its error is one that ends the experiment.
func (l *Lab) record(ctx context.Context, x experiment.Experiment, trials []experiment.Trial, before []experiment.Record) (done []experiment.Record, err error) {
	rows := make([]*experiment.Record, len(trials))
	for i, t := range trials {
		rows[i] = l.row(x, t, attempts(before, t)+1)
		if err := l.Ledger.Begin(ctx, *rows[i]); err != nil {
			return nil, err
		}
	}
	var failure error
	switch x.Design {
	case experiment.ABBA:
		failure = l.switched(ctx, x, rows)
	case experiment.Interleaved:
		failure = l.interleaved(ctx, x, rows)
	default:
		failure = l.trial(ctx, x, rows[0])
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the rows stay begun: cut off, and done again
	}
	for _, r := range rows {
		if failure != nil {
			r.Mark(experiment.MarkFailed, "%v", failure)
		}
		r.Ended = time.Now().UTC()
		if err := l.Ledger.Finish(ctx, *r); err != nil {
			return done, err
		}
		done = append(done, *r)
	}
	return done, nil
}

// row begins the record of a trial.
func (l *Lab) row(x experiment.Experiment, t experiment.Trial, attempt int) *experiment.Record {
	return &experiment.Record{Trial: t, Experiment: x.Hash, Attempt: attempt, Began: time.Now().UTC(), Setup: x.Arm(t.Arm).Setup, Plumb: l.Plumb, Machine: l.machine,
		ID: fmt.Sprintf("%.12s-%03d-%03d-%d", x.Hash, t.Block, t.Position, attempt), Files: map[string]string{}}
}

// say tells what goes on, with how long all will take at most, at the pace
// so far.
func (l *Lab) say(p Progress) {
	if l.Watch == nil {
		return
	}
	p.Report = l.report
	p.Total = l.file.Most * len(l.file.Arms)
	p.Number = min(len(l.report.Records)+1, p.Total)
	if done := len(l.report.Records) - l.before; done > 0 {
		p.Left = l.spent / time.Duration(done) * time.Duration(p.Total-p.Number+1)
		if l.file.Budget > 0 {
			p.Left = min(p.Left, max(0, l.file.Budget-l.report.Took))
		}
	}
	l.Watch(p)
}

// machine tells in a few words what the trials run on. What cannot be read is
// left out.
func machine(ctx context.Context, h host.Reader) (says []string) {
	read := func(name string) string {
		text, err := h.ReadFile(ctx, name)
		if err != nil {
			return ""
		}
		return string(text)
	}
	if system, _, _ := osrelease.Read(ctx, h); system["PRETTY_NAME"] != "" {
		says = append(says, system["PRETTY_NAME"])
	}
	if v := strings.TrimSpace(read("/proc/sys/kernel/osrelease")); v != "" {
		says = append(says, "Linux "+v)
	}
	cpus := read("/proc/cpuinfo")
	if n := strings.Count("\n"+cpus, "\nprocessor"); n > 0 {
		_, model, _ := strings.Cut(cpus, "\nmodel name")
		model, _, _ = strings.Cut(model, "\n")
		says = append(says, strings.TrimSpace(fmt.Sprintf("%d processors %s", n, strings.Trim(model, " \t:"))))
	}
	if kb, ok := proc.Keyed([]byte(read("/proc/meminfo")), "MemTotal:"); ok {
		says = append(says, units.Bytes(kb<<10)+" of memory")
	}
	return says
}
