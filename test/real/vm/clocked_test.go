package vm

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"
)

// clocked has each line of a text begin with the seconds since this was made, so that one sees where a machine
// stands.
type clocked struct {
	to    io.Writer
	since func() time.Duration
	amid  bool // a line has begun
}

// watched shows what a machine prints while it comes.
func watched(t *testing.T) io.Writer {
	began := time.Now()
	return &clocked{to: t.Output(), since: func() time.Duration { return time.Since(began) }}
}

// Write implements io.Writer.
func (c *clocked) Write(p []byte) (int, error) {
	var all []byte
	for line := range bytes.Lines(p) {
		if !c.amid {
			all = fmt.Appendf(all, "%5.0f  ", c.since().Seconds())
		}
		all, c.amid = append(all, line...), line[len(line)-1] != '\n'
	}
	if _, err := c.to.Write(all); err != nil {
		return 0, err
	}
	return len(p), nil
}

func TestClockedTellsWhenEachLineCame(t *testing.T) {
	var got bytes.Buffer
	var now time.Duration
	c := &clocked{to: &got, since: func() time.Duration { now += time.Second; return now }}
	for _, piece := range []string{"on", "e\ntwo\n\n", "", "four"} {
		if n, err := c.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Errorf("%d of %q, %v", n, piece, err)
		}
	}
	if want := "    1  one\n    2  two\n    3  \n    4  four"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
}
