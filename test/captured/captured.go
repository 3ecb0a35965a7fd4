// Package captured reads the captured hosts of fixtures as a check reads a host: for tests, and for research that asks the
// rules about one.
package captured

import (
	"context"
	"errors"
	"fmt"
	"os"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/engine/mysql"
	"plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/host/taped"
	"plumb/internal/observe"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	"plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
	"plumb/internal/tape"
)

// Knowledge is what a check judges with; what of it cannot be read is an error.
func Knowledge() (check.Knowledge, error) {
	var bad []error
	k, err := check.Load(check.Choice{}, nil, func(what string, err error) {
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", what, err))
		}
	})
	return k, errors.Join(append(bad, err)...)
}

// Host is the host of a tape.
func Host(file string) (host.Reader, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	recorded, err := tape.Read(f, file)
	if err != nil {
		return nil, err
	}
	return taped.New(recorded)
}

// Phases are the probes of the machine, and of its servers.
func Phases(cat *catalog.Catalog) [][]observe.Probe {
	return [][]observe.Probe{
		{kernel.New(cat), process.Probe{}, block.NewProbe(cat), filesystem.Probe{}, zfs.NewProbe(cat)},
		{mysql.NewProbe(cat, nil), postgres.NewProbe(cat, nil)},
	}
}

// Stack is what Plumb makes of the host of a tape.
func Stack(ctx context.Context, file string, cat *catalog.Catalog) (*stack.Stack, error) {
	h, err := Host(file)
	if err != nil {
		return nil, err
	}
	return Picture(ctx, h, cat)
}

// Picture is what Plumb makes of a host.
func Picture(ctx context.Context, h host.Reader, cat *catalog.Catalog) (*stack.Stack, error) {
	return check.Observe(ctx, host.NewCached(h), cat, Phases(cat), check.DefaultTimeout)
}

// Server gives the server of a host that has one, and its data directory.
func Server(s *stack.Stack) (db stack.Ref, data string, err error) {
	for _, r := range s.Roles {
		if r.Name == "data" {
			return r.DB, r.Path, nil
		}
	}
	return stack.Ref{}, "", errors.New("no server keeps data on the captured host")
}
