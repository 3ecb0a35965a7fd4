package shell

import (
	"context"
	"errors"

	"plumb/internal/watch/record"
)

// Recording is where plumb watch keeps what it records.
func Recording() Kept {
	return Kept{Of: "the recording", Flag: "dir", Root: record.Directory, Own: "plumb/watch"}
}

// ReadRecording calls do with the recording in the directory that was named; "" for the usual one.
func ReadRecording(ctx context.Context, named string, do func(*record.Reader) error) error {
	dir, err := Recording().In(named)
	if err != nil {
		return err
	}
	r, err := record.OpenReader(ctx, dir)
	if err != nil {
		return err
	}
	return errors.Join(do(r), r.Close())
}
