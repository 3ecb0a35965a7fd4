package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"plumb/internal/lab/experiment"
	"plumb/internal/search"
	"plumb/research/trials"
)

// How near does Plumb's advice come to the best that chance finds? Many
// configurations at random get one trial each, beside Plumb's; those that look
// best are then measured anew beside it, because the best of many trials owes
// part of its figure to luck.
const (
	drawn     = 24
	finalists = 3
)

// dial is a setting with values to draw from. None of them is less durable than
// the default.
type dial struct {
	search.Dimension
	write func(float64) string
}

// amount draws mebibytes, so that equal ratios count the same.
func amount(name string, low, high, step float64, unit string) dial {
	return dial{search.Dimension{Name: name, Low: low, High: high, Log: true, Step: step}, func(v float64) string { return strconv.Itoa(int(v)) + unit }}
}

func number(name string, low, high, step float64) dial {
	return dial{search.Dimension{Name: name, Low: low, High: high, Step: step}, func(v float64) string { return strconv.Itoa(int(v)) }}
}

// choice draws one of some words.
func choice(name string, words ...string) dial {
	grid := make([]float64, len(words))
	for i := range words {
		grid[i] = float64(i)
	}
	return dial{search.Dimension{Name: name, Low: 0, High: float64(len(words) - 1), Grid: grid}, func(v float64) string { return words[int(math.Round(v))] }}
}

// dials of an engine: what any adviser of the contest sets, and what is said to
// matter besides, over ranges that hold all advice.
func dials(e engine) []dial {
	if e.flavour != "" {
		return []dial{
			amount("innodb_buffer_pool_size", 128, 832, 64, "M"), // which the server rounds to nothing else
			amount("innodb_log_file_size", 64, 2048, 1, "M"),
			amount("innodb_log_buffer_size", 8, 64, 1, "M"),
			choice("innodb_flush_method", "O_DIRECT", "fsync"),
			choice("innodb_flush_neighbors", "0", "1"),
			number("innodb_io_capacity", 100, 4000, 100),
			number("innodb_max_dirty_pages_pct", 10, 90, 5),
			number("innodb_lru_scan_depth", 128, 2048, 128),
			choice("innodb_use_native_aio", "ON", "OFF"),
		}
	}
	return []dial{
		amount("shared_buffers", 64, 768, 1, "MB"),
		amount("max_wal_size", 256, 6144, 1, "MB"),
		choice("commit_delay", "0", "200", "500", "1000", "2000", "5000", "10000"), // what is right differs tenfold from volume to volume
		number("commit_siblings", 1, 7, 1),
		choice("wal_compression", "off", "pglz", "lz4"),
		amount("wal_buffers", 1, 64, 1, "MB"),
		number("checkpoint_timeout", 60, 1800, 60),
		choice("checkpoint_completion_target", "0.5", "0.7", "0.9", "0.95"),
		choice("effective_io_concurrency", "1", "16", "200"),
		number("bgwriter_lru_maxpages", 0, 1000, 100),
		number("bgwriter_delay", 10, 200, 10),
		choice("wal_init_zero", "on", "off"),
	}
}

// chances are the configurations that are drawn for an engine.
func chances(e engine) (all []arm) {
	ds := dials(e)
	space := make([]search.Dimension, len(ds))
	for i, d := range ds {
		d.Start = math.NaN()
		space[i] = d.Dimension
	}
	for n, point := range (search.Random{Space: space, Total: drawn}).Ask(nil, drawn, 1) {
		a := arm{names: []string{fmt.Sprintf("random %d", n+1)}, settings: map[string]string{}}
		for i, d := range ds {
			a.settings[d.Name] = d.write(point[i])
		}
		all = append(all, a)
	}
	return all
}

// searched writes an experiment of plumb's arm and some others.
func searched(c cell, name string, ours arm, others []arm, blocks int) []byte {
	return sheet{cell: c, name: name, by: "-search from research/advisers/plumb.yaml and at random", arms: append([]arm{ours}, others...), blocks: blocks, budget: 2 * budget,
		question: "How near does Plumb's advice come to the best of many configurations at random?",
		notes:    c.notes() + " The others are drawn at random, sizes evenly by ratio and the rest evenly over the range of each setting; none is less durable than the default."}.text()
}

// searchAll carries out the random search for the chosen cells.
func (c contest) searchAll(ctx context.Context) error {
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	ours, err := readPlumb()
	if err != nil {
		return err
	}
	for _, cell := range chosen {
		if err := c.searchCell(ctx, cell, arm{names: []string{byPlumb}, settings: ours.of(cell)}); err != nil {
			return err
		}
	}
	return nil
}

// ofBest ends the name of the experiment that measures the finalists.
const ofBest = "-best"

func searchName(c cell) string { return "search-" + c.name() }

func (c contest) searchDir() trials.Kept { return trials.Kept(filepath.Join(c.Experiments, "search")) }

func (c contest) searchCell(ctx context.Context, cell cell, ours arm) error {
	all := chances(cell.engine)
	name := searchName(cell)
	first, err := c.try(ctx, name, searched(cell, name, ours, all, 1))
	if err != nil {
		return err
	}
	name += ofBest
	_, err = c.try(ctx, name, searched(cell, name, ours, fastest(all, first), 3))
	return err
}

// try writes an experiment, carries out what the ledger lacks of it, and keeps
// its trials.
func (c contest) try(ctx context.Context, name string, text []byte) ([]experiment.Record, error) {
	dir := c.searchDir()
	if err := os.MkdirAll(string(dir), 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(string(dir), name+".yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return nil, err
	}
	x, err := experiment.Parse(file, text)
	if err != nil {
		return nil, err
	}
	if err := c.Fill(ctx, x, file, false); err != nil {
		return nil, err
	}
	records, err := c.Done(ctx, x)
	if err != nil {
		return nil, err
	}
	return records, dir.Put(x, records)
}

// fastest gives the arms that did most in one trial.
func fastest(all []arm, records []experiment.Record) []arm {
	rate := map[string]float64{}
	for _, r := range records {
		if r.Valid() {
			rate[r.Arm] = r.Metric
		}
	}
	tried := slices.DeleteFunc(slices.Clone(all), func(a arm) bool { return rate[a.name()] == 0 })
	slices.SortStableFunc(tried, func(a, b arm) int { return cmp.Compare(rate[b.name()], rate[a.name()]) })
	return tried[:min(finalists, len(tried))]
}
