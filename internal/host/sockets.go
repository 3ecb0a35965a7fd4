package host

import (
	"bytes"
	"path"
	"regexp"
	"slices"
)

// socketLists are the kernel's lists of sockets. It walks them anew for each few KB that are read, and passes over a socket that stands
// behind one that was closed meanwhile: 22 times in two million on a busy Linux 6.18. A server whose socket is not in the list would
// count as stopped, so a list is read twice, and what is in either is in it.
var socketLists = regexp.MustCompile(`^/proc/(?:[^/]+/)?net/(?:unix|tcp6?)$`)

// readAgain reads a list of sockets once more, and adds what only was in it the first time.
func readAgain(name string, first []byte, read func() ([]byte, error)) ([]byte, error) {
	second, err := read()
	if err != nil {
		return second, err
	}
	return joined(second, first, map[bool]int{true: 6, false: 9}[path.Base(name) == "unix"]), nil
}

// joined adds to one list what only another has. The inode of a socket stands in a column.
func joined(list, more []byte, column int) []byte {
	inode := func(line []byte) string {
		if f := bytes.Fields(line); len(f) > column {
			return string(f[column])
		}
		return ""
	}
	has := map[string]bool{"": true}
	for line := range bytes.Lines(list) {
		has[inode(line)] = true
	}
	list = slices.Clip(list)
	for line := range bytes.Lines(more) {
		if !has[inode(line)] {
			list = append(list, line...)
		}
	}
	return list
}
