package pitr

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"plumb/internal/backup/moment"
)

var _ moment.Sieve = Engine{}

// Sieve implements moment.Sieve: mbstream makes each file that a stream names, wherever that is.
//
// A file that says where a table lies outside of the data directory is left out: the table itself is in the base as all others
// are, and a server on the copy that was sent to the other place would find the file of the one that was backed up there, or none.
func (Engine) Sieve(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 256<<10)
	for {
		var head bytes.Buffer
		c, err := chunkOf(io.TeeReader(r, &head))
		if errors.Is(err, io.EOF) {
			return nil
		}
		to := out
		for _, name := range c.names {
			if err == nil && !inside(name) {
				err = fmt.Errorf("%.100q lies outside of where it is unpacked", name)
			}
			if path.Ext(name) == elsewhere {
				to = io.Discard
			}
		}
		if err != nil {
			return fmt.Errorf("read the base: %w", err)
		}
		if _, err = to.Write(head.Bytes()); err == nil {
			_, err = io.CopyN(to, r, c.size)
		}
		if err != nil {
			return fmt.Errorf("pass the base on: %w", unexpected(err))
		}
	}
}

// elsewhere is how the name of a file ends that says where a table lies.
const elsewhere = ".isl"

// inside tells whether a file lies where it is unpacked.
func inside(name string) bool {
	return name != "" && !path.IsAbs(name) && !strings.Contains(name, "\x00") && !slices.Contains(strings.Split(name, "/"), "..")
}
