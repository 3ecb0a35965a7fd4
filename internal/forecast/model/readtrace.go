package model

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// mostLine bounds a line of a trace.
const mostLine = 4096

// ReadTrace learns from a file of any length: a line for each read, which is what
// the block is called. name is the file's, for messages.
func ReadTrace(name string, r io.Reader) (*Trace, error) {
	t := newTrace()
	lines := bufio.NewReaderSize(r, mostLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("read the trace %s: a line has more than %d bytes", name, mostLine)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			h := fnv.New64a()
			h.Write(line)
			t.Read(h.Sum64())
		}
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the trace %s: %w", name, err)
		}
	}
}
