package main

import (
	"context"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/research/trials"
)

// lab is what carries the experiments out.
func (c contest) lab() trials.Lab { return trials.Lab{Plumb: c.plumb, Ledger: c.ledger, Dir: c.dir} }

// store opens the ledger, or what is kept with the experiments.
func (c contest) store(ctx context.Context) (trials.Store, error) {
	if c.kept {
		return trials.Kept(c.experiments), nil
	}
	return trials.OpenLedger(ctx, c.ledger)
}

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
		if err := c.lab().Fill(ctx, x, c.file(cell), cell.volume.host); err != nil {
			return err
		}
	}
	return nil
}

// keep copies the trials of the cells that are done from the ledger to where
// the experiments are.
func (c contest) keep(ctx context.Context) error {
	return c.each(ctx, func(_ cell, x experiment.Experiment, records []experiment.Record, _ bool) error {
		if !report.Make(x, records).Complete {
			return nil
		}
		return trials.Kept(c.experiments).Put(x, records)
	})
}
