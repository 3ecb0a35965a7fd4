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
	"plumb/internal/hint"
)

var _ moment.Sieve = Engine{}

// Sieve implements moment.Sieve: mbstream makes each file that a stream names, wherever that is.
func (Engine) Sieve(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 256<<10)
	for {
		var head bytes.Buffer
		name, size, err := chunkOf(io.TeeReader(r, &head))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = inside(name)
		}
		if err != nil {
			return fmt.Errorf("read the base: %w", err)
		}
		if _, err = out.Write(head.Bytes()); err == nil {
			_, err = io.CopyN(out, r, size)
		}
		if err != nil {
			return fmt.Errorf("pass the base on: %w", unexpected(err))
		}
	}
}

// inside refuses the name of a file that lies elsewhere, and of one that says where another does.
func inside(name string) error {
	switch {
	case name == "" || path.IsAbs(name) || strings.Contains(name, "\x00") || slices.Contains(strings.Split(name, "/"), ".."):
		return fmt.Errorf("%.100q lies outside of where it is unpacked", name)
	case path.Ext(name) == ".isl":
		return hint.With(fmt.Errorf("%.100q says where a table lies that is outside of the data directory: a server on the copy would open it there", name),
			"restore it by hand, where the server that was backed up is not: --command 'mbstream -x -C DIR', then mariadb-backup --prepare and --move-back")
	}
	return nil
}
