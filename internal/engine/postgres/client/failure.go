package client

import (
	"bytes"
	"slices"
	"strings"

	"plumb/internal/load"
)

// goneCode tells the errors after which the session is over: connection
// exceptions, and a server that stops, crashed or starts.
func goneCode(code string) bool {
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "57P0")
}

// fault is what an ErrorResponse says.
type fault struct{ severity, code, message []byte }

// parseFault reads the body of an ErrorResponse or a NoticeResponse: fields of
// a letter and a text that ends with a zero byte, and a zero byte after the
// last.
func parseFault(body []byte) (f fault) {
	for len(body) > 1 && body[0] != 0 {
		value, rest, _ := bytes.Cut(body[1:], []byte{0})
		switch body[0] {
		case 'S':
			if f.severity == nil {
				f.severity = value
			}
		case 'V':
			f.severity = value // the same, not translated
		case 'C':
			f.code = value
		case 'M':
			f.message = value
		}
		body = rest
	}
	return f
}

func (f fault) ends() bool {
	return string(f.severity) == "FATAL" || string(f.severity) == "PANIC"
}

// failure makes what the engine of load is told.
func (f fault) failure(retry []string, doing string) *load.Failure {
	out := &load.Failure{Class: load.Fatal, Code: string(f.code), Message: string(f.message), Doing: doing}
	switch {
	case f.ends(), goneCode(out.Code):
		out.Class = load.Lost
	case slices.Contains(retry, out.Code):
		out.Class = load.Retry
	}
	return out
}
