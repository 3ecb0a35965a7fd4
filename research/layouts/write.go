package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/product"
	"plumb/internal/units"
)

// write replaces the files of the chosen cells.
func (c contest) write(ctx context.Context) error {
	asked, err := newAsking(c.tapes)
	if err != nil {
		return err
	}
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Experiments, 0o755); err != nil {
		return err
	}
	for _, cell := range chosen {
		ours, err := asked.made(ctx, cell)
		if err != nil {
			return fmt.Errorf("ask provision's rules for %s: %w", cell.name(), err)
		}
		text, err := text(cell, ours)
		if err != nil {
			return err
		}
		if err := os.WriteFile(c.file(cell), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (c contest) file(cell cell) string { return c.File(cell.name()) }

// text writes the experiment of a cell.
func text(c cell, ours made) ([]byte, error) {
	all, notes := arms(c, ours)
	if err := checked(all); err != nil {
		return nil, err
	}
	s := c.size()
	f := experiment.File{Experiment: c.name(), Question: fmt.Sprintf("On which layout is %s fastest with %s, on a disk of 200 requests a second?", c.engine.label, c.zfs.name),
		Source: "seed:zfs-setup-02, zfs-setup-04, zfs-setup-05; OpenZFS documentation, Workload Tuning", Notes: c.notes() + " " + strings.Join(notes, " "),
		Base: experiment.Setup{
			Volume: experiment.Volume{Size: s.volume, Profile: profile, Kind: experiment.Zpool},
			Server: &experiment.Server{Engine: c.engine.name, Memory: s.memory, Settings: c.engine.base(c.cache()),
				UsedLogs: product.Of(experiment.KindOf(c.engine.name)).SparseLogs},
			Load: c.workload()},
		Blocks: experiment.FileBlocks{Least: s.blocks, Most: s.blocks}, Budget: s.budget, Metric: "rate", Checks: []string{experiment.NoErrors}, Measure: s.measure}
	head := []string{"Written by go run -C research ./layouts -write from research/layouts/layouts.yaml and from what plumb provision makes."}
	for _, a := range all {
		f.Arms = append(f.Arms, experiment.FileArm{Name: a.name, Set: a.sets()})
	}
	if c.showsUnsafe() {
		head = append(head, "The arms that are not crash-safe are never for data that matter. They are shown apart, compared with nothing.")
	}
	f.Compare = pairs(all)
	return f.Encode(head...)
}

// notes say what a reader must know of the cell itself.
func (c cell) notes() string {
	load := "sysbench's read-write transactions, all rows equally likely"
	if c.load == "tpcc" {
		load = "TPC-C-like transactions"
	}
	s := c.size()
	text := fmt.Sprintf("The volume is a disk of 200 requests a second. Server, page cache and ARC have %s together, of which the ARC has %s; the server's own cache has %s in every arm, "+
		"and the data are some %s. The load is %d sessions of %s, on the same processors. Each trial begins with a server that was just started and nothing cached; caches are filled without the volume's limit. The ZFS is %s.",
		s.memory, s.arc, c.cache(), experiment.Bytes(s.data), threads, load, c.zfs.what)
	if c.form == short {
		text += fmt.Sprintf(" This is the contest in short: %s of %s in place of %s each, and the crash-safe arms alone. Caches are filled for %s in place of %s, so they may still be filling.",
			units.Count(s.blocks, "block"), units.Short(s.measure.Time), units.Short(c.inWhole().measure.Time), units.Short(s.measure.Fill), units.Short(c.inWhole().measure.Fill))
	}
	if c.zfs.fuse {
		return text + " It has no lz4: lzjb stands for it, and what it has not is left out. It also reads and writes its disk through the page cache: " +
			"program, ARC and that have 320 MB more than the ARC, and nothing beyond."
	}
	return text + fmt.Sprintf(" The ARC belongs to the machine: whoever runs this sets zfs_arc_max to %d, and zfs_arc_min below it, as go run -C research ./layouts -vm does.", int64(s.arc))
}

// inWhole is the size of the cell when all of it is run.
func (c cell) inWhole() size {
	c.form = whole
	return c.size()
}
