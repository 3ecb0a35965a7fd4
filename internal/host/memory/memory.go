// Package memory reads how much memory the machine has left, and how much it swaps.
package memory

import (
	"context"
	"errors"
	"fmt"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/units"
)

// Available reads MemAvailable, in bytes. A kernel that does not tell it is
// not known to have any.
func Available(ctx context.Context, h host.Reader) (n int64, known bool, err error) {
	info, err := h.ReadFile(ctx, "/proc/meminfo")
	if err != nil {
		return 0, false, err
	}
	n, known = proc.Keyed(info, "MemAvailable:")
	return n << 10, known, nil
}

// Read reads what is watched while memory is taken: MemAvailable in bytes, and the pages
// swapped in and out since boot.
func Read(ctx context.Context, h host.Reader) (available, swapped int64, err error) {
	available, known, err := Available(ctx, h)
	if err != nil {
		return 0, 0, err
	}
	stat, err := h.ReadFile(ctx, "/proc/vmstat")
	if err != nil {
		return 0, 0, err
	}
	if !known {
		return 0, 0, errors.New("MemAvailable is not in /proc/meminfo")
	}
	in, _ := proc.Keyed(stat, "pswpin")
	out, _ := proc.Keyed(stat, "pswpout")
	return available, in + out, nil
}

// Short says why memory is short, or "": less than least bytes are available or, where swapping counts, pages were swapped beyond a
// count.
func Short(ctx context.Context, h host.Reader, least int64, swapping bool, swapped int64) (string, error) {
	available, now, err := Read(ctx, h)
	switch {
	case err != nil:
		return "", fmt.Errorf("watch the memory: %w", err)
	case available < least:
		return fmt.Sprintf("only %s of memory are available, but %s must stay free", units.Bytes(available), units.Bytes(least)), nil
	case swapping && now > swapped:
		return units.Counted(now-swapped, "page", "was", "were") + " swapped meanwhile", nil
	}
	return "", nil
}
