package cli

import (
	"bytes"
	"context"
	"io"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/private"
	"plumb/internal/lab"
	"plumb/internal/storage/volume"
	"plumb/internal/tape"
)

// engines lists the private servers that the lab can set up.
func engines() []lab.Engine { return private.Engines() }

// volumeMaker makes the lab's volumes.
func volumeMaker() lab.VolumeMaker { return volume.New() }

// captureTime limits the recording of a stack, for which a trial waits.
const captureTime = 20 * time.Second

// captureStack returns what records this machine, with the lab's server on it,
// as plumb capture does.
func captureStack(cat *catalog.Catalog) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		t, err := record(ctx, cat, shell.Source{Timeout: captureTime})
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		err = shell.Packed(func(w io.Writer) error { return tape.Write(w, t) })(&packed)
		return packed.Bytes(), err
	}
}
