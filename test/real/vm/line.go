package vm

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The machine sends the output of its line over its second serial port, where
// the kernel does not write, and between it marks of its own: a byte that text
// does not have, these words, what happened, and the end of the line.
const (
	lead      = "\x1eplumb-vm "
	markBytes = 64
	keptBytes = 4 << 20 // of the output
)

// wire takes what the machine sends.
type wire struct {
	live  io.Writer // for who watches; nil for nobody
	onEnd func()

	mu    sync.Mutex
	held  []byte // what may be the beginning of a mark
	kept  []byte
	lost  int // bytes of output beyond what is kept
	start time.Time
	boot  time.Duration // until the line began
	ended bool
	code  int
}

// Write implements io.Writer.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, p...)
	for {
		text, mark, rest, found := cutMark(w.held)
		w.pass(text)
		w.held = bytes.Clone(rest)
		if !found {
			return len(p), nil
		}
		w.happened(mark)
	}
}

// pass keeps output and shows it. Who watches cannot stop the machine.
func (w *wire) pass(text []byte) {
	room := min(len(text), keptBytes-len(w.kept))
	w.kept = append(w.kept, text[:room]...)
	w.lost += len(text) - room
	if w.live != nil && len(text) > 0 {
		_, _ = w.live.Write(text)
	}
}

func (w *wire) happened(mark string) {
	if mark == "up" {
		w.boot = time.Since(w.start)
		return
	}
	if code, ok := parseExit(mark); ok && !w.ended {
		w.ended, w.code = true, code
		if w.onEnd != nil {
			w.onEnd()
		}
	}
}

// finish gives what was sent, when nothing more comes.
func (w *wire) finish() (r Result, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pass(w.held)
	w.held = nil
	r = Result{Code: w.code, Output: w.kept, Lost: w.lost, Boot: w.boot}
	if !w.ended {
		r.Code = -1
	}
	return r, w.ended
}

// cutMark splits what came at the first mark: the text before it, what it
// says, and what follows. Without a whole mark, rest is what may become one.
func cutMark(b []byte) (text []byte, mark string, rest []byte, found bool) {
	for at := 0; ; at++ {
		i := bytes.IndexByte(b[at:], lead[0])
		if i < 0 {
			return b, "", nil, false
		}
		at += i
		here := b[at:]
		if len(here) < len(lead) {
			if strings.HasPrefix(lead, string(here)) {
				return b[:at], "", here, false
			}
			continue
		}
		if !bytes.HasPrefix(here, []byte(lead)) {
			continue
		}
		end := bytes.IndexByte(here[:min(len(here), markBytes)], '\n')
		if end >= 0 {
			return b[:at], string(here[len(lead):end]), here[end+1:], true
		}
		if len(here) < markBytes {
			return b[:at], "", here, false
		}
	}
}

// parseExit reads the mark of the line's end: "exit 3".
func parseExit(mark string) (code int, ok bool) {
	digits, ok := strings.CutPrefix(mark, "exit ")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 8)
	return int(n), err == nil
}
