// Package trials is what contests of set-ups share: it carries out experiments
// one after another, goes on where it was, and keeps their trials.
package trials

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/units"
)

// Lab carries experiments out with a plumb binary.
type Lab struct {
	Plumb  string // the binary
	Ledger string // as of plumb lab run
	Dir    string // volumes are made below it
}

// Read reads the file of an experiment.
func Read(file string) (experiment.Experiment, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return experiment.Experiment{}, fmt.Errorf("read the experiment: %w", err)
	}
	return experiment.Parse(file, text)
}

// Fill carries out what the ledger lacks of an experiment. host tells that an
// arm of it changes the whole machine.
func (l Lab) Fill(ctx context.Context, x experiment.Experiment, file string, host bool) error {
	more, begun, why, err := l.Lacks(ctx, x)
	if err != nil {
		return err
	}
	if !more {
		fmt.Fprintf(os.Stderr, "contest: %s: %s\n", x.Name, why)
		return nil
	}
	fmt.Fprintf(os.Stderr, "contest: %s: %s\n", x.Name, units.Planned(experiment.Estimate(x).Least))
	args := []string{file}
	if begun {
		args = append(args, "--resume")
	}
	if host {
		args = append(args, "--allow-host")
	}
	if err := l.run(ctx, args...); err != nil {
		return fmt.Errorf("%s: %w", x.Name, err)
	}
	return nil
}

// Lacks asks the ledger whether an experiment wants another block, and whether
// it was begun.
func (l Lab) Lacks(ctx context.Context, x experiment.Experiment) (more, begun bool, why string, err error) {
	records, err := l.Done(ctx, x)
	if err != nil {
		return false, false, "", err
	}
	more, why = report.Next(x, records)
	return more, len(records) > 0, why, nil
}

// Done gives the trials of an experiment that were carried out.
func (l Lab) Done(ctx context.Context, x experiment.Experiment) ([]experiment.Record, error) {
	store, err := OpenLedger(ctx, l.Ledger)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	records, _, err := store.Of(ctx, x)
	return records, err
}

// run carries out one experiment, which prints its report. An interrupt of this
// program is passed on, once: the lab then takes away what it made, and a second
// one would end it before it has. So it is in a process group of its own, which a
// terminal's interrupt does not reach.
func (l Lab) run(ctx context.Context, args ...string) error {
	args = append([]string{"lab", "run", "--ledger", l.Ledger, "--dir", l.Dir, "--no-capture"}, args...)
	cmd := exec.CommandContext(ctx, l.Plumb, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Minute
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// Choose takes those whose names have a pattern; all when there is none.
func Choose[T any](all []T, name func(T) string, pattern string) (chosen []T, err error) {
	for _, one := range all {
		fits := pattern == ""
		if !fits {
			if fits, err = filepath.Match(pattern, name(one)); err != nil {
				return nil, fmt.Errorf("-only %s: %w", pattern, err)
			}
		}
		if fits {
			chosen = append(chosen, one)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-only %s fits no cell: they are called %s", pattern, name(all[0]))
	}
	return chosen, nil
}
