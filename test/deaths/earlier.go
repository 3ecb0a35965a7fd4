package deaths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

// memory names the file in which each death that came out well is noted. A run that finds it goes on where the
// one before had no more time (-timeout).
const memory = "PLUMB_DEATHS"

// ending is what a test needs to take away what it made.
const ending = 20 * time.Second

// earlier are the deaths of one test that were tried already.
type earlier struct {
	of    string // the test
	file  string // "" for none
	lines map[string]bool
	n     int // that were passed over
}

// remembered reads what earlier runs tried; nothing without a file to keep it in.
func remembered(t *testing.T) *earlier {
	t.Helper()
	e := &earlier{of: t.Name(), file: os.Getenv(memory), lines: map[string]bool{}}
	text, err := os.ReadFile(e.file)
	if !errors.Is(err, fs.ErrNotExist) {
		must(t, err)
	}
	for line := range strings.Lines(string(text)) {
		if line, whole := strings.CutSuffix(line, "\n"); whole {
			e.lines[line] = true
		}
	}
	return e
}

func (e *earlier) line(i int) string { return fmt.Sprintf("%s: %d", e.of, i) }

// has tells whether a death was tried, and counts it then.
func (e *earlier) has(i int) bool {
	had := e.lines[e.line(i)]
	if had {
		e.n++
	}
	return had
}

// add notes one that came out well.
func (e *earlier) add(t *testing.T, i int) {
	t.Helper()
	if e.file == "" {
		return
	}
	f, err := os.OpenFile(e.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	_, err = f.WriteString(e.line(i) + "\n")
	must(t, errors.Join(err, f.Close()))
}

// late tells whether the rest is for the next run.
func (e *earlier) late(t *testing.T) bool {
	t.Helper()
	end, limited := t.Deadline()
	return e.file != "" && limited && time.Until(end) < ending
}
