package fill

import (
	"context"

	"plumb/internal/load"
)

// Fill carries a plan out, or goes on with it where an earlier attempt was
// ended. Tables of another plan, or of somebody else, are an error and are
// not touched.
func Fill(ctx context.Context, s load.Server, p Plan, o Options) (Report, error) {
	return Report{}, nil
}

// Loaded reads the notes of a workload.
func Loaded(ctx context.Context, a load.Admin, workload string) (State, error) {
	return State{}, nil
}

// Matches tells whether the tables are those of these settings; the error says what
// differs, with a hint.
func (s State) Matches(want []load.Setting) error { return nil }

// Cleanup drops the tables of a workload that Fill made, and its notes. It
// gives their names.
func Cleanup(ctx context.Context, s load.Server, workload string) ([]string, error) {
	return nil, nil
}

// Checksum gives the checksum over all rows that a table shall have, made
// without a server, and their number.
func Checksum(engine string, t Table) (sum string, rows int64) { return "", 0 }
