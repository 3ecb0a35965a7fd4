package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger/body"
	"plumb/internal/lab/report"
)

// kept is a directory with a file for each cell, a trial on each line. What it
// takes to draw the table is in it; how each second of a trial went is only in
// the ledger of the machine that ran it.
type kept string

func (dir kept) file(x experiment.Experiment) string {
	return filepath.Join(string(dir), x.Name+".trials.jsonl")
}

func (dir kept) of(_ context.Context, x experiment.Experiment) (all []experiment.Record, older bool, err error) {
	text, err := os.ReadFile(dir.file(x))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read the trials of %s: %w", x.Name, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		r, err := body.Decode(lines.Bytes())
		if err != nil {
			return nil, false, fmt.Errorf("%s:%d: %w", dir.file(x), n, err)
		}
		if r.Experiment != x.Hash {
			return nil, true, nil
		}
		all = append(all, r)
	}
	return all, false, lines.Err()
}

func (kept) Close() error { return nil }

// put writes the trials of an experiment.
func (dir kept) put(x experiment.Experiment, all []experiment.Record) error {
	var text bytes.Buffer
	for _, r := range all {
		r.Series, r.Files, r.Effective, r.Ops = nil, nil, nil, nil
		line, err := body.Encode(r)
		if err != nil {
			return fmt.Errorf("keep %s: %w", r.ID, err)
		}
		text.Write(append(line, '\n'))
	}
	return os.WriteFile(dir.file(x), text.Bytes(), 0o644)
}

// keep copies the trials of the cells that are done from the ledger to where
// the experiments are.
func (c contest) keep(ctx context.Context) error {
	return c.each(ctx, func(_ cell, x experiment.Experiment, records []experiment.Record, _ bool) error {
		if !report.Make(x, records).Complete {
			return nil
		}
		return kept(c.experiments).put(x, records)
	})
}
