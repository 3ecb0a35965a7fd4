package shell

import (
	"errors"
	"fmt"
	"io"
	"os"

	"plumb/internal/hint"
	"plumb/internal/units"
)

// MostFile is more than any plan, spec, policy or experiment has, in bytes.
const MostFile = 64 << 20

// ErrLarge is the error of a file that is larger than it may be.
var ErrLarge = errors.New("it is too large")

// ReadFile reads a file that the command line names, with - for standard input where in is that. A device or a wrong file of more
// than most bytes is an error, and takes no memory from the databases beside us. The error does not name the file.
func ReadFile(name string, in io.Reader, most int64) ([]byte, error) {
	if name != "-" || in == nil {
		f, err := os.Open(name)
		if err != nil {
			return nil, hint.Cause(err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%w: more than %s", ErrLarge, units.Bytes(most))
	}
	if err != nil {
		return nil, hint.Cause(err)
	}
	return text, nil
}
