package main

import (
	"context"

	"plumb/internal/lab/experiment"
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
		if err := c.Fill(ctx, x, c.file(cell), cell.volume.host); err != nil {
			return err
		}
	}
	return nil
}

// keep copies the trials of the cells that are done from the ledger to where
// the experiments are.
func (c contest) keep(ctx context.Context) error {
	return c.each(ctx, func(_ cell, x experiment.Experiment, records []experiment.Record, _ bool) error {
		return c.Put(x, records)
	})
}
