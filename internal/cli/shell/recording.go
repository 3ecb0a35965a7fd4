package shell

import (
	"context"
	"errors"

	"plumb/internal/watch/record"
)

// Recording is what plumb watch records.
func Recording() Kept {
	return Kept{Of: "the recording", Flag: "dir", Root: record.Directory, Own: "plumb/watch"}
}

// ReadRecording opens the recording, or the one in the directory that was named.
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
