package outlet

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"plumb/internal/hint"
)

// Textfile is the path of a file in a directory that another exporter reads.
type Textfile struct{ Path string }

// Validate is a usage error if the path cannot be used.
func (t Textfile) Validate() error {
	if filepath.Ext(t.Path) != ".prom" {
		return hint.Usage(fmt.Sprintf("--textfile %s does not end in .prom", t.Path), "node_exporter reads no other files; give DIR/plumb.prom")
	}
	if st, err := os.Stat(filepath.Dir(t.Path)); err != nil || !st.IsDir() {
		return hint.Usage(fmt.Sprintf("--textfile %s: %s is not a directory", t.Path, filepath.Dir(t.Path)), "give the directory of node_exporter's --collector.textfile.directory")
	}
	if st, err := os.Lstat(t.Path); err == nil && !st.Mode().IsRegular() {
		return hint.Usage(fmt.Sprintf("--textfile %s exists, and is not a file", t.Path), "give another name")
	}
	return nil
}

// leftover begins the name of a file that is being written; sixteen digits follow.
func (t Textfile) leftover() string { return "." + filepath.Base(t.Path) + "." }

// Tidy removes half-written files of runs that were killed. Only Write makes files with such names.
func (t Textfile) Tidy() error {
	dir := filepath.Dir(t.Path)
	all, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for what was left beside %s: %w", t.Path, hint.Cause(err))
	}
	for _, e := range all {
		digits, ours := strings.CutPrefix(e.Name(), t.leftover())
		if !ours || len(digits) != 16 || strings.Trim(digits, "0123456789abcdef") != "" || !e.Type().IsRegular() {
			continue
		}
		err := os.Remove(filepath.Join(dir, e.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) { // what is another user's is his to remove
			return fmt.Errorf("remove what was left beside %s: %w", t.Path, err)
		}
	}
	return nil
}

// Write replaces the file, which everybody can read. It is written under another name
// first, which the exporter ignores and nobody can guess, and then renamed. If others
// can write to the directory there may be a link in place of the file: it is replaced, not
// followed.
func (t Textfile) Write(write func(io.Writer) error) error {
	beside := filepath.Join(filepath.Dir(t.Path), fmt.Sprintf("%s%016x", t.leftover(), rand.Uint64()))
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", t.Path, hint.Cause(err))
	}
	if st, e := f.Stat(); e == nil && st.Mode().Perm() != 0o644 { // the umask took permissions away
		err = f.Chmod(0o644)
	}
	err = errors.Join(err, write(f))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), t.Path)
	}
	if err != nil {
		os.Remove(f.Name()) // nobody needs half a file
		return fmt.Errorf("write %s: %w", t.Path, hint.Cause(err))
	}
	return nil
}

// Remove removes the file: once nobody writes it any more, what it says is out of date.
func (t Textfile) Remove() error {
	if err := os.Remove(t.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", t.Path, err)
	}
	return nil
}
