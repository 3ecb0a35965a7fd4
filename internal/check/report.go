package check

import (
	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// Report is all that a check of one host found.
type Report struct {
	Stack   *stack.Stack
	Catalog *catalog.Catalog
	Advice  advise.Advice
	Judged  int    // rules that gave an answer about something on this host
	Plumb   string // version of this program
	From    string // the tape that was read; "" for this host
}
