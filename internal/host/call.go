package host

import (
	"context"
	"slices"
	"strings"
)

// The calls of a Reader by their names, as they are on a tape.
const (
	OpFile   = "file"
	OpGlob   = "glob"
	OpStat   = "stat"
	OpLink   = "link"
	OpStatfs = "statfs"
	OpRun    = "run" // a command that only reads
	OpQuery  = "query"
)

// Call is one call of a reader or doer. Op is one of the above; "raw"; of calls that change something "replace", "tidy",
// "remove", "make directory", "rename", "append", "write", "do" (any command), "exec", "writable", "lock"; or what a Step is.
type Call struct {
	Op string
	Of []string // its arguments, without data: a path, a pattern, the words of a command, or the target's name and the query
}

// CallFor is a call on behalf of whom the context names: another may be given another answer.
func CallFor(ctx context.Context, op string, of ...string) Call {
	return Call{op, onBehalf(ctx, of...)}
}

// Reads tells whether a call changes nothing.
func (c Call) Reads() bool {
	return slices.Contains([]string{OpFile, OpGlob, OpStat, OpLink, OpStatfs, OpRun, OpQuery, "raw", "writable"}, c.Op)
}

// Key names the call in a map.
func (c Call) Key() string { return c.Op + "\x00" + strings.Join(c.Of, "\x00") }
