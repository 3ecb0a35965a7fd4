package shell

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host/self"
	"plumb/internal/view/page"
)

// WriteFile makes a file that only its owner can read. It is written under another name
// first, and renamed when it is complete; what a killed run left of the same file is removed first.
// If there is a file already and replace is not set, the error is fs.ErrExist. A device or a pipe is
// written to as it is.
func WriteFile(name string, replace bool, write func(io.Writer) error) error {
	switch st, err := os.Stat(name); {
	case err == nil && st.IsDir():
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("is a directory")}
	case err == nil && !st.Mode().IsRegular():
		return writeStream(name, write)
	case err == nil && !replace:
		return fs.ErrExist
	case err == nil:
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	}
	f, err := self.Aside(name)
	if err != nil {
		return fmt.Errorf("make a file in %s: %w", filepath.Dir(name), hint.Cause(err))
	}
	if err = errors.Join(write(f), f.Sync()); err == nil {
		err = publish(f.Name(), name, replace)
	}
	switch {
	case errors.Is(err, fs.ErrExist): // it may have taken hours
		kept := filepath.Join(filepath.Dir(name), strings.TrimPrefix(filepath.Base(f.Name()), ".")) // or the next run removes it
		if bad := publish(f.Name(), kept, false); bad != nil {
			kept = f.Name()
		}
		err = fmt.Errorf("%w: it appeared meanwhile, and what was to be in it is in %s", err, kept)
	case err != nil:
		os.Remove(f.Name()) // nobody needs half a file
	}
	if bad := f.Close(); err == nil { // only now: while it is open nobody takes it for left
		err = bad
	}
	return err
}

// publish gives a complete file its name. If a file has appeared there meanwhile and replace is not set, the error is fs.ErrExist.
func publish(made, name string, replace bool) error {
	if replace {
		return os.Rename(made, name)
	}
	err := os.Link(made, name)
	switch {
	case err == nil:
		return os.Remove(made)
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	}
	// The filesystem may not have hard links.
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fs.ErrExist)
	}
	return os.Rename(made, name)
}

// WriteWhole is WriteFile for contents that are in memory.
func WriteWhole(name string, replace bool, text []byte) error {
	return WriteFile(name, replace, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// NotWritten adds to the error of a file what was being done. If there is a file already,
// the hint is --force.
func NotWritten(doing string, err error) error {
	err = fmt.Errorf("%s: %w", doing, hint.Cause(err))
	if errors.Is(err, fs.ErrExist) {
		return hint.With(err, "--force replaces a file that is there")
	}
	return err
}

// Document prints a document as JSON.
func (s *Shell) Document(doc any) error {
	text, err := page.JSON(doc)
	if err == nil {
		_, err = s.Out.Write(text)
	}
	return err
}

// Answer prints doc as JSON, or text for people, as asked for.
func (s *Shell) Answer(asJSON bool, doc any, text string) error {
	if asJSON {
		return s.Document(doc)
	}
	return s.Print(text)
}

// Print prints text for people.
func (s *Shell) Print(text string) error {
	_, err := io.WriteString(s.Out, text)
	return err
}

// WritePage writes an HTML page to a file, and says so on standard error.
func (s *Shell) WritePage(name string, replace bool, html []byte) error {
	if err := WriteWhole(name, replace, html); err != nil {
		return NotWritten("write the page to "+name, err)
	}
	fmt.Fprintf(s.Err, "%s: %d bytes\n", OneLine(filepath.Clean(name)), len(html))
	return nil
}

// RoomFor is a usage error if the file that a flag names cannot be written. It is called
// before anything is read or measured, as that may take hours.
func RoomFor(flag, name string, replace bool) error {
	if name == "" {
		return nil
	}
	if st, err := os.Stat(filepath.Dir(name)); err != nil || !st.IsDir() {
		return hint.Usage(fmt.Sprintf("%s %s: %s is not a directory", flag, name, filepath.Dir(name)), "make it first")
	}
	switch st, err := os.Stat(name); {
	case err == nil && st.IsDir():
		return hint.Usage(fmt.Sprintf("%s %s is a directory", flag, name), "name a file in it")
	case err == nil && st.Mode().IsRegular() && !replace:
		return hint.Usage(fmt.Sprintf("%s %s is there already", flag, name), "give another name, or --force to replace it")
	}
	return nil
}

func writeStream(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// Packed wraps a function that writes so that its output is compressed with gzip.
func Packed(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z := gzip.NewWriter(w)
		return errors.Join(write(z), z.Close())
	}
}
