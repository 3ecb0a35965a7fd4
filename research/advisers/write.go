package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
)

const width = 100 // of a line of notes

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
	return sheet{cell: c, name: c.name(), by: "-write from the advisers' formulas and research/advisers/plumb.yaml", arms: all, blocks: 3, budget: budget,
		question: fmt.Sprintf("Whose advice makes %s fastest on %s?", map[string]string{"mariadb": "MariaDB", "postgres": "PostgreSQL"}[c.engine.name], short(c)),
		notes:    c.notes() + " Advisers that ask were told 1 GB, 2 processors, SSD, OLTP, data smaller than memory. " + strings.Join(notes, " ")}.text()
}

func (s sheet) text() []byte {
	c, b := s.cell, &bytes.Buffer{}
	fmt.Fprintf(b, "# Written by go run -C research ./advisers %s.\n", s.by)
	if slices.ContainsFunc(s.arms, func(a arm) bool { return len(a.host) > 0 }) {
		fmt.Fprintf(b, "# It changes settings of the whole machine, and so asks for --allow-host; they are put back after every trial.\n")
	}
	fmt.Fprintf(b, "experiment: %s\nquestion: %s\n", s.name, s.question)
	fmt.Fprintf(b, "notes: >\n%s", folded(s.notes))
	fmt.Fprintf(b, "base:\n  volume: {kind: loop, size: 10G, filesystem: ext4%s}\n", profile(c))
	fmt.Fprintf(b, "  server: {engine: %s, memory: %s%s}\n", c.engine.name, experiment.Bytes(memory), usedLogs(c.engine))
	fmt.Fprintf(b, "  load: %s\narms:\n", c.workload())
	for _, a := range s.arms {
		writeArm(b, a)
	}
	b.WriteString("compare:\n")
	for _, p := range pairs(s.arms) {
		fmt.Fprintf(b, "  - [%s, %s]\n", quoted(p[0]), quoted(p[1]))
	}
	fmt.Fprintf(b, "blocks: {least: %d, most: %d}\nmeasure: %s # a checkpoint may begin or end within it: that is what settings are about\n", s.blocks, s.blocks, c.times())
	fmt.Fprintf(b, "budget: %s\nmetric: rate\nchecks: [no-errors]\n", minutes(s.budget))
	return b.Bytes()
}

// usedLogs asks for logs as they are when a server has run for a while.
func usedLogs(e engine) string {
	if e.flavour == "" {
		return ""
	}
	return ", used_logs: true"
}

func short(c cell) string {
	if c.volume.profile == "" {
		return "a fast disk"
	}
	return c.volume.profile
}

func profile(c cell) string {
	if c.volume.profile == "" {
		return ""
	}
	return ", profile: " + quoted(c.volume.profile)
}

func writeArm(b *bytes.Buffer, a arm) {
	if len(a.settings)+len(a.host) == 0 {
		fmt.Fprintf(b, "  - {name: %s, set: {}}\n", quoted(a.name()))
		return
	}
	if a.unsafe {
		b.WriteString("  # Never for data that matter: a crash of the machine can cost them. Shown apart, compared with nothing.\n")
	}
	fmt.Fprintf(b, "  - name: %s\n    set:\n", quoted(a.name()))
	for _, name := range slices.Sorted(maps.Keys(a.settings)) {
		fmt.Fprintf(b, "      server.settings.%s: %s\n", name, quoted(a.settings[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(a.host)) {
		fmt.Fprintf(b, "      host.%s: %s\n", name, quoted(a.host[name]))
	}
}

// quoted writes a text as YAML reads it back.
func quoted(s string) string {
	if strings.ContainsAny(s, ",:#{}[]\"'=()") || strings.HasPrefix(s, "-") || strings.TrimSpace(s) != s || s == "" {
		return strconv.Quote(s)
	}
	return s
}

// The read-write load's tables, and the rows of each. An engine's warehouses
// are with the engine: they take more room in one than in the other.
const (
	tables = 4
	rows   = 520_000
)

func (c cell) workload() string {
	if c.load == "tpcc" {
		return fmt.Sprintf("{kind: tpcc, warehouses: %d, threads: %d}", c.engine.warehouses, threads)
	}
	return fmt.Sprintf("{kind: oltp, script: oltp_read_write, tables: %d, rows: %d, threads: %d}", tables, rows, threads)
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

// times writes how long a trial is driven. Without a limit to wait for, filling
// is a warm-up.
func (c cell) times() string {
	fill := ""
	if c.volume.profile != "" {
		fill = "fill: " + seconds(filled) + ", "
	}
	return fmt.Sprintf("{%swarmup: %s, time: %s, unsteady: true}", fill, seconds(c.volume.warmup), seconds(measured))
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }
func minutes(d time.Duration) string { return strconv.Itoa(int(d.Minutes())) + "m" }

// folded writes a paragraph of a folded text.
func folded(s string) string {
	var b strings.Builder
	line := " "
	for _, word := range strings.Fields(s) {
		if len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
