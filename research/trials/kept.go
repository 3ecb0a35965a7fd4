package trials

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
)

// Kept is a directory with a file for each experiment, a trial on each line. What it
// takes to draw the table is in it; how each second of a trial went is only in
// the ledger of the machine that ran it.
type Kept string

// File is where the trials of an experiment are.
func (dir Kept) File(x experiment.Experiment) string {
	return filepath.Join(string(dir), x.Name+".trials.jsonl")
}

// Of implements Store.
func (dir Kept) Of(_ context.Context, x experiment.Experiment) (all []experiment.Record, older bool, err error) {
	text, err := os.ReadFile(dir.File(x))
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
			return nil, false, fmt.Errorf("%s:%d: %w", dir.File(x), n, err)
		}
		if r.Experiment != x.Hash {
			return nil, true, nil
		}
		all = append(all, r)
	}
	return all, false, lines.Err()
}

// Close implements Store.
func (Kept) Close() error { return nil }

// Put writes the trials of an experiment.
func (dir Kept) Put(x experiment.Experiment, all []experiment.Record) error {
	var text bytes.Buffer
	for _, r := range all {
		r.Series, r.Files, r.Effective, r.Ops = nil, nil, nil, nil
		line, err := body.Encode(r)
		if err != nil {
			return fmt.Errorf("keep %s: %w", r.ID, err)
		}
		text.Write(append(line, '\n'))
	}
	return os.WriteFile(dir.File(x), text.Bytes(), 0o644)
}
