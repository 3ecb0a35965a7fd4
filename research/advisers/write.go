package main

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
)

// sheet is an experiment of the contest, to be written.
type sheet struct {
	cell                  cell
	name, question, notes string
	by                    string // the flag that writes it, and from what
	arms                  []arm
	blocks                int
	budget                time.Duration
}

// text writes the experiment of a cell.
func text(c cell, ours advised) []byte {
	all, notes := arms(c, ours)
	return sheet{cell: c, name: c.name(), by: "-write from research/advisers/advisers.yaml and plumb.yaml", arms: all, blocks: 3, budget: budget,
		question: fmt.Sprintf("Whose advice makes %s fastest on %s?", map[string]string{"mariadb": "MariaDB", "postgres": "PostgreSQL"}[c.engine.name], short(c)),
		notes:    c.notes() + " Advisers that ask were told 1 GB, 2 processors, SSD, OLTP, data smaller than memory. " + strings.Join(notes, " ")}.text()
}

func (s sheet) text() []byte {
	c := s.cell
	head := []string{"Written by go run -C research ./advisers " + s.by + "."}
	f := experiment.File{Experiment: s.name, Question: s.question, Notes: s.notes,
		Base: experiment.Setup{
			Volume: experiment.Volume{Kind: experiment.Loop, Size: 10 << 30, Filesystem: "ext4", Profile: c.volume.profile},
			Server: &experiment.Server{Engine: c.engine.name, Memory: memory, UsedLogs: c.engine.flavour != ""}, // logs as they are when a server has run for a while
			Load:   c.workload()},
		Blocks: experiment.FileBlocks{Least: s.blocks, Most: s.blocks}, Budget: s.budget, Metric: "rate", Checks: []string{experiment.NoErrors},
		Measure: experiment.FileMeasure{Warmup: c.volume.warmup, Time: measured, Unsteady: true}} // a checkpoint may begin or end within it: that is what settings are about
	if c.volume.profile != "" { // without a limit to wait for, filling is a warm-up
		f.Measure.Fill = filled
	}
	for _, a := range s.arms {
		set := map[string]string{}
		for name, value := range a.settings {
			set["server.settings."+name] = value
		}
		for name, value := range a.host {
			set["host."+name] = value
		}
		f.Arms = append(f.Arms, experiment.FileArm{Name: a.name(), Set: set})
		if len(a.host) > 0 {
			head = append(head, "It changes settings of the whole machine, and so asks for --allow-host; they are put back after every trial.")
		}
		if a.unsafe {
			head = append(head, "One arm is never for data that matter: a crash of the machine can cost them. It is shown apart, compared with nothing.")
		}
	}
	f.Compare = append(f.Compare, pairs(s.arms)...)
	out, err := f.Encode(head...)
	if err != nil {
		panic(err) // plain data
	}
	return out
}

func short(c cell) string {
	if c.volume.profile == "" {
		return "a fast disk"
	}
	return c.volume.profile
}

// The read-write load's tables, and the rows of each. An engine's warehouses
// are with the engine: they take more room in one than in the other.
const (
	tables = 4
	rows   = 520_000
)

func (c cell) workload() experiment.Load {
	if c.load == "tpcc" {
		return experiment.Load{Kind: experiment.TPCC, Warehouses: c.engine.warehouses, Threads: threads}
	}
	return experiment.Load{Kind: experiment.OLTP, Script: "oltp_read_write", Tables: tables, Rows: rows, Threads: threads}
}

// notes say what a reader must know of the cell itself.
func (c cell) notes() string {
	load := "sysbench's read-write transactions, all rows equally likely"
	if c.load == "tpcc" {
		load = "TPC-C-like transactions"
	}
	return fmt.Sprintf("The volume is %s. The server has a control group of 1 GB and shares two processors with the load, %d sessions of %s. "+
		"The data are some 500 MB: half the memory, and four times what the server caches when nothing is set (%s). "+
		"Each trial begins with a server that was just started and an empty page cache; its caches are filled without the volume's limit.", c.volume.what, threads, load, c.engine.defaults)
}
