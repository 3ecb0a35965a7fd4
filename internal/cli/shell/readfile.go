package shell

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"plumb/internal/hint"
	"plumb/internal/units"
)

// MostFile is the largest plan, spec, policy or experiment that is read, in bytes.
const MostFile = 64 << 20

// ErrLarge says that a file is larger than it may be.
var ErrLarge = errors.New("it is too large")

// ReadFile reads a file that the command line names. The name - stands for in, unless that is nil. More than most bytes are ErrLarge, so
// that a device or a wrong file does not use up memory that databases need. The error does not name the file, and has the hint of Open.
func ReadFile(name string, in io.Reader, most int64) ([]byte, error) {
	if name != "-" || in == nil {
		f, err := Open(name)
		if err != nil {
			return nil, err
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

// mostBeside is how many names of a directory are looked at for one that was meant.
const mostBeside = 10_000

// Open opens a file that the command line names. The error does not name the file. It has a hint, for who has none of his own.
func Open(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, hint.With(hint.Cause(err), unopened(name, err))
	}
	return f, nil
}

// unopened says what can be done about a file that cannot be opened.
func unopened(name string, err error) string {
	dir, base := filepath.Split(name)
	dir = cmp.Or(dir, ".")
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "run as root, or as a user who may read it"
	case !errors.Is(err, fs.ErrNotExist):
		return ""
	}
	var beside []string
	if d, err := os.Open(dir); err == nil {
		beside, _ = d.Readdirnames(mostBeside)
		d.Close()
	} else if errors.Is(err, fs.ErrNotExist) {
		return "there is no directory " + dir
	}
	slices.Sort(beside)
	return cmp.Or(hint.Meant(base, beside), "ls "+dir+" shows which files are there")
}
