package change

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
)

// entry is one name below a directory, as find prints it.
type entry struct {
	name     string // "." for the directory itself
	kind     byte   // d, f or l
	size     int64  // of a file
	modified string // seconds since 1970
	uid, gid int
	mode     string // octal
	link     string
}

const (
	listFormat = `%y\0%s\0%T@\0%U\0%G\0%m\0%l\0%P\0`
	maxList    = 256 << 20
)

// list lists a directory with all that is in it, but for sockets, which hold
// nothing: what is above comes before what is below.
func list(ctx context.Context, do host.Streamer, dir string) ([]entry, error) {
	out := &bounded{left: maxList}
	_, err := do.Pipe(ctx, host.Pipe{Argv: []string{"find", dir, "-xdev", "-printf", listFormat}, Out: out, Works: true})
	if err != nil {
		return nil, err
	}
	return parseList(out.Bytes())
}

// bounded keeps what is written to it, up to a limit.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("it holds more files than can be listed")
	}
	return b.Buffer.Write(p)
}

func parseList(text []byte) (all []entry, err error) {
	fields := strings.Split(string(text), "\x00")
	const each = 8
	if len(fields)%each != 1 || fields[len(fields)-1] != "" {
		return nil, fmt.Errorf("find printed %d fields, which are no whole lines", len(fields))
	}
	for ; len(fields) > each; fields = fields[each:] {
		f := fields
		e := entry{name: f[7], modified: f[2], mode: f[5], link: f[6]}
		if e.name == "" {
			e.name = "."
		}
		var errs [3]error
		e.size, errs[0] = strconv.ParseInt(f[1], 10, 64)
		e.uid, errs[1] = strconv.Atoi(f[3])
		e.gid, errs[2] = strconv.Atoi(f[4])
		if err := errors.Join(errs[:]...); err != nil || len(f[0]) != 1 {
			return nil, fmt.Errorf("find printed %q of %s", f[:7], e.name)
		}
		switch e.kind = f[0][0]; e.kind {
		case 's':
			continue
		case 'd', 'l':
			e.size = 0
		case 'f':
		default:
			return nil, fmt.Errorf("%s is neither a file, a directory nor a link (find calls it %s)", e.name, f[0])
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// digest is the same for two directories that hold the same names, with the
// same sizes, times, owners and modes.
func digest(all []entry) string {
	sum := sha256.New()
	for _, e := range all {
		fmt.Fprintf(sum, "%q %c %d %s %d %d %s %q\n", e.name, e.kind, e.size, e.modified, e.uid, e.gid, e.mode, e.link)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
