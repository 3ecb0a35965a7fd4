package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/test/real/vm"
)

//go:embed vm.sh
var vmScript string

// inside is the ledger of a cell that runs in a virtual machine. Beside it is the machine's disk, until the cell is
// done: what a machine that was stopped has of the ledger is on it.
func (c contest) inside(cell cell) string { return filepath.Join(c.Ledger+"-vm", cell.name()) }

// inVM carries out what the ledger lacks of a cell in a virtual machine.
func (c contest) inVM(ctx context.Context, cell cell, x experiment.Experiment) error {
	records, _, err := c.done(ctx, cell, x)
	if err != nil {
		return err
	}
	if more, why := report.Next(x, records); !more {
		fmt.Fprintf(os.Stderr, "layouts: %s: %s\n", x.Name, why)
		return nil
	}
	m, err := vm.New(ctx, vm.Trixie, func(text string) { fmt.Fprintln(os.Stderr, "vm:", text) })
	if err != nil {
		return err
	}
	ledger := c.inside(cell)
	if err := os.MkdirAll(filepath.Dir(ledger), 0o755); err != nil {
		return err
	}
	out, err := os.MkdirTemp(filepath.Dir(ledger), "out-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	disk := vm.Disk{Name: "data", Bytes: 64 << 30, File: ledger + ".disk"} // it takes only the room of what is written
	r, err := m.Run(ctx, vm.Script{In: []string{c.Plumb, c.file(cell)}, Out: out, Disks: []vm.Disk{disk}, Live: os.Stderr, Deadline: 24 * time.Hour,
		Line: fmt.Sprintf("FILE=/in/%s.yaml ARC=%d\n%s", cell.name(), cell.size().arc, vmScript)})
	if err != nil {
		return fmt.Errorf("%s: %w", x.Name, err)
	}
	if err := moved(filepath.Join(out, "ledger"), ledger); err != nil {
		return fmt.Errorf("%s: bring the ledger back: %w", x.Name, err)
	}
	if r.Code != 0 {
		return fmt.Errorf("%s: the lab in the virtual machine ended with %d", x.Name, r.Code)
	}
	return os.Remove(disk.File)
}

// moved puts a directory in place of another, which is an older copy of it.
func moved(from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}
