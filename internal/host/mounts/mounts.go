// Package mounts reads what is mounted, as this process sees it.
package mounts

import (
	"bytes"
	"context"
	"fmt"

	"github.com/moby/sys/mountinfo"

	"plumb/internal/host"
)

// Read lists all that is mounted here.
func Read(ctx context.Context, h host.Reader) ([]*mountinfo.Info, error) {
	const table = "/proc/self/mountinfo"
	text, err := h.ReadFile(ctx, table)
	if err != nil {
		return nil, err
	}
	all, err := mountinfo.GetMountsFromReader(bytes.NewReader(text), nil)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	return all, nil
}
