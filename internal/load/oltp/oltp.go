package oltp

import (
	"context"

	"plumb/internal/load"
	"plumb/internal/load/fill"
)

// New makes a workload of a script. Open checks the tables, and that the
// server has room for the sessions and their statements.
func New(s load.Server, c Config) (load.Workload, error) { return nil, nil }

// Prepare makes the tables and fills them, or goes on where an earlier
// attempt was ended.
func Prepare(ctx context.Context, s load.Server, c Config, o fill.Options) (fill.Report, error) {
	return fill.Report{}, nil
}

// Warm reads the tables once, so that they are in memory as far as they fit.
func Warm(ctx context.Context, s load.Server, c Config) error { return nil }

// Cleanup drops the tables that Prepare made, and gives their names.
func Cleanup(ctx context.Context, s load.Server) ([]string, error) { return nil, nil }

// Warnings say in sentences what a reader must know about these options: which
// part of the rows is hit with them.
func (c Config) Warnings() []string { return nil }
