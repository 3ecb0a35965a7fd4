package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"plumb/research/powercut/writelog"
)

// The form of a ledger; see internal/load/ledger.
const (
	bookHeader = 4096 // bytes
	bookRecord = 16
)

// mark says that so many commits had been acknowledged before the log of
// writes was so long. Each of them was acknowledged because a flush was
// complete, and that flush was in the log by then.
type mark struct {
	records int64 // in the ledger
	size    int64 // of the log, bytes
}

// marker takes a mark for each line "ack N" that a guest prints. The guest
// counts first, the host measures the log afterwards: a mark may say too few
// commits for its place, and never too many.
type marker struct {
	log   string // "" when nothing is logged
	first chan struct{}

	mu    sync.Mutex
	line  []byte
	marks []mark
}

func newMarker(log string) *marker { return &marker{log: log, first: make(chan struct{})} }

// mostLine bounds a line of a guest; the rest of a longer one is not looked at.
const mostLine = 256

// Write implements io.Writer for what the guest prints.
func (m *marker) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range p {
		switch {
		case b == '\n':
			m.take(m.line)
			m.line = m.line[:0]
		case len(m.line) < mostLine:
			m.line = append(m.line, b)
		}
	}
	return len(p), nil
}

func (m *marker) take(line []byte) {
	records, ok := parseAck(line)
	if !ok || len(m.marks) > 0 && records <= m.marks[len(m.marks)-1].records {
		return
	}
	var size int64
	if m.log != "" {
		st, err := os.Stat(m.log)
		if err != nil {
			return
		}
		size = st.Size()
	}
	if len(m.marks) == 0 {
		close(m.first)
	}
	m.marks = append(m.marks, mark{records, size})
}

// parseAck reads a line "ack 17".
func parseAck(line []byte) (records int64, ok bool) {
	digits, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("ack "))
	if !ok {
		return 0, false
	}
	records, err := strconv.ParseInt(string(digits), 10, 64)
	return records, err == nil && records > 0
}

// all gives the marks so far.
func (m *marker) all() []mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.marks)
}

// watchEvery is how often the guest looks at the ledger, which is brought to
// its disk as often.
const watchEvery = 5 * time.Millisecond

// watch runs in the guest: it prints a line whenever a ledger has grown. It
// ends with the machine.
func watch(book string, out io.Writer) error {
	for last := int64(0); ; time.Sleep(watchEvery) {
		st, err := os.Stat(book)
		if errors.Is(err, os.ErrNotExist) {
			continue // not begun yet
		}
		if err != nil {
			return err
		}
		if n := (st.Size() - bookHeader) / bookRecord; n > last {
			last = n
			if _, err := fmt.Fprintf(out, "ack %d\n", n); err != nil {
				return err
			}
		}
	}
}

// acknowledged is how many commits were surely acknowledged when the first so
// many entries of a log had happened, and no more.
func acknowledged(marks []mark, l *writelog.Log, end int) (records int64) {
	for _, m := range marks {
		if l.Before(m.size) > end || l.Hole && m.size > l.End { // behind a hole nobody knows the place
			break
		}
		records = m.records
	}
	return records
}

// span gives the entries between which cuts are worth making: from when a
// tenth of all commits was acknowledged to the end.
func span(marks []mark, l *writelog.Log) (from, to int, err error) {
	if len(marks) == 0 {
		return 0, 0, errors.New("nothing was acknowledged before the power was cut")
	}
	most := marks[len(marks)-1].records
	i := slices.IndexFunc(marks, func(m mark) bool { return m.records*10 >= most })
	from, to = l.Before(marks[i].size), len(l.Entries)
	if from >= to {
		return 0, 0, fmt.Errorf("the log of writes ends at entry %d, before commits were acknowledged", to)
	}
	return from, to, nil
}
