package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
)

// run carries out what the ledger lacks, one cell after another. What was
// begun goes on where it was.
func (c contest) run(ctx context.Context) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	for _, cell := range chosen {
		x, err := c.experiment(cell)
		if err != nil {
			return err
		}
		if err := c.fill(ctx, x, c.file(cell), cell.volume.host); err != nil {
			return err
		}
	}
	return nil
}

// fill carries out what the ledger lacks of an experiment. host tells that an
// arm of it changes the whole machine.
func (c contest) fill(ctx context.Context, x experiment.Experiment, file string, host bool) error {
	more, begun, why, err := c.lacks(ctx, x)
	if err != nil {
		return err
	}
	if !more {
		fmt.Fprintf(os.Stderr, "contest: %s: %s\n", x.Name, why)
		return nil
	}
	fmt.Fprintf(os.Stderr, "contest: %s: %s\n", x.Name, experiment.Estimate(x).Least.Round(time.Minute))
	args := []string{file}
	if begun {
		args = append(args, "--resume")
	}
	if host {
		args = append(args, "--allow-host")
	}
	if err := c.lab(ctx, args...); err != nil {
		return fmt.Errorf("%s: %w", x.Name, err)
	}
	return nil
}

// lacks asks the ledger whether an experiment wants another block, and whether
// it was begun.
func (c contest) lacks(ctx context.Context, x experiment.Experiment) (more, begun bool, why string, err error) {
	records, err := c.done(ctx, x)
	if err != nil {
		return false, false, "", err
	}
	more, why = report.Next(x, records)
	return more, len(records) > 0, why, nil
}

// done gives the trials of an experiment that were carried out.
func (c contest) done(ctx context.Context, x experiment.Experiment) ([]experiment.Record, error) {
	store, err := c.trials(ctx)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	records, _, err := store.of(ctx, x)
	return records, err
}

// lab runs one experiment, which prints its report. An interrupt of this
// program is passed on, once: the lab then takes away what it made, and a second
// one would end it before it has. So it is in a process group of its own, which a
// terminal's interrupt does not reach.
func (c contest) lab(ctx context.Context, args ...string) error {
	args = append([]string{"lab", "run", "--ledger", c.ledger, "--dir", c.dir, "--no-capture"}, args...)
	cmd := exec.CommandContext(ctx, c.plumb, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Minute
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
