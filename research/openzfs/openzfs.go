// Package openzfs carries out experiments in a virtual machine with OpenZFS 2.3, where this host has none.
package openzfs

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/research/trials"
	"plumb/test/real/vm"
)

//go:embed vm.sh
var script string

// Ledger is where the ledger of an experiment is brought to: a directory below one for all, at. Beside it is the machine's
// disk until the experiment is done: what a machine that was stopped has of the ledger is on it.
func Ledger(at string, x experiment.Experiment) string { return filepath.Join(at+"-vm", x.Name) }

// Fill carries out what the ledger lacks of the experiment in file.
func Fill(ctx context.Context, plumb, at, file string, x experiment.Experiment) error {
	ledger := Ledger(at, x)
	more, _, why, err := trials.Lab{Ledger: ledger}.Lacks(ctx, x)
	if err != nil {
		return err
	}
	if !more {
		fmt.Fprintf(os.Stderr, "openzfs: %s: %s\n", x.Name, why)
		return nil
	}
	m, err := vm.New(ctx, vm.Trixie, func(text string) { fmt.Fprintln(os.Stderr, "vm:", text) })
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(ledger), 0o755); err != nil {
		return err
	}
	out, err := os.MkdirTemp(filepath.Dir(ledger), "out-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	disk := vm.Disk{Name: "data", Bytes: 64 << 30, File: ledger + ".disk"} // it takes only the room of what is written
	r, err := m.Run(ctx, vm.Script{In: []string{plumb, file}, Out: out, Disks: []vm.Disk{disk}, Live: os.Stderr, Deadline: 24 * time.Hour,
		Line: fmt.Sprintf("FILE=/in/%s ARC=%d\n%s", filepath.Base(file), int64(arc(x)), script)})
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

// arc is what the ARC of the machine is given: it is one for all arms, those that are not on ZFS among them.
func arc(x experiment.Experiment) (most experiment.Bytes) {
	for _, a := range x.Arms {
		most = max(most, a.Setup.Volume.ARC)
	}
	return most
}
