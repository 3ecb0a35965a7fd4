package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Bounds of a file of results.
const (
	mostTrial  = 1 << 20
	mostTrials = 100_000
)

// parseTrials reads one trial a line. A last line that is torn, as one is that
// was being written when we were killed, is left out.
func parseTrials(in io.Reader) (all []trial, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, mostTrial)
	var bad error
	for n := 1; lines.Scan(); n++ {
		if bad != nil {
			return nil, bad
		}
		if n > mostTrials {
			return nil, fmt.Errorf("more than %d trials", mostTrials)
		}
		var t trial
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			bad = fmt.Errorf("line %d: %w", n, err)
			continue
		}
		all = append(all, t)
	}
	return all, lines.Err()
}

// readTrials reads a file of results; one that is not there has none.
func readTrials(name string) ([]trial, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := parseTrials(f)
	if err != nil {
		return nil, fmt.Errorf("read the results %s: %w", name, err)
	}
	return all, nil
}

// appendTrial brings one more trial to the disk.
func appendTrial(name string, t trial) error {
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = endLine(f)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// endLine cuts off a torn last line, so that the next one begins a line.
func endLine(f *os.File) error {
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	end := int64(bytes.LastIndexByte(text, '\n') + 1)
	if err := f.Truncate(end); err != nil {
		return err
	}
	_, err = f.Seek(end, io.SeekStart)
	return err
}

// of tells whether a trial is one of a row as it is now.
func (t trial) of(r row, k kind) bool { return t.Row == r.name && t.Kind == k && t.Hash == r.hash() }

// counted are the trials of a row as it is now that say something.
func counted(all []trial, r row, k kind) []trial {
	return slices.DeleteFunc(slices.Clone(all), func(t trial) bool { return !t.of(r, k) || t.Error != "" })
}

// next is the number of a session that was not tried yet.
func next(all []trial, r row, k kind) (number int) {
	for _, t := range all {
		if t.of(r, k) {
			number = max(number, t.Session+1)
		}
	}
	return number
}
