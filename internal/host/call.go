package host

import (
	"context"
	"slices"
	"strings"
)

// Names of the calls of a Reader, as they are on a tape.
const (
	OpFile   = "file"
	OpGlob   = "glob"
	OpStat   = "stat"
	OpLink   = "link"
	OpStatfs = "statfs"
	OpRun    = "run" // a command that only reads
	OpQuery  = "query"
)

// Call is one call of a reader or doer.
type Call struct {
	// Op is one of the names above, or for a Doer "raw", "replace", "tidy", "remove", "make directory", "rename", "append", "write", "do"
	// (which is Run), "exec", "writable" or "lock". A Step has a name of its own.
	Op string
	Of []string // its arguments without data: a path, a pattern, the words of a command, or the target's name and the query
}

// CallFor is a call with a context from For or AsUser. On whose behalf it is made becomes one of its arguments, as the answer can depend
// on that.
func CallFor(ctx context.Context, op string, of ...string) Call {
	return Call{op, onBehalf(ctx, of...)}
}

// Reads tells whether the call only reads.
func (c Call) Reads() bool {
	return slices.Contains([]string{OpFile, OpGlob, OpStat, OpLink, OpStatfs, OpRun, OpQuery, "raw", "writable"}, c.Op)
}

// Key is the key of the call in a map.
func (c Call) Key() string { return c.Op + "\x00" + strings.Join(c.Of, "\x00") }
