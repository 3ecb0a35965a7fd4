package shell

import (
	"errors"
	"fmt"
	"io"
	"os"

	"plumb/internal/hint"
	"plumb/internal/units"
)

// MostFile is the largest plan, spec, policy or experiment that is read, in bytes.
const MostFile = 64 << 20

// ErrLarge says that a file is larger than it may be.
var ErrLarge = errors.New("it is too large")

// ReadFile reads a file that the command line names. The name - stands for in, unless that is nil. More than most bytes are ErrLarge, so
// that a device or a wrong file does not use up memory that databases need. The error does not name the file.
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
