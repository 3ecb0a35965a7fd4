package zfs

import (
	"regexp"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of vdevs; real pools have at most four levels.
const maxDepth = 8

// parseStatus reads the text of `zpool status`, of one or more pools.
func parseStatus(text []byte) []status {
	var all []status
	var section string
	var tree *treeReader
	var scanned bool // the place where scans are told of was met
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		key, value, ok := heading(line)
		if ok && key == "pool" {
			all = append(all, status{Pool: value, Classes: map[string][]*vdev{}, DataErrors: -1})
			tree, scanned = &treeReader{}, false
		}
		if len(all) == 0 {
			continue
		}
		st := &all[len(all)-1]
		if ok {
			section = key
			if !scanned && (key == "scan" || key == "scrub" || key == "config") {
				scanned, st.ScanRead = true, true // never scanned: OpenZFS has no line then, zfs-fuse says so
			}
			st.head(key, value)
			continue
		}
		if section == "config" {
			tree.add(st, line)
		}
	}
	return all
}

var headings = regexp.MustCompile(`^ {0,8}(pool|state|status|action|see|scan|scrub|config|errors|remove|checkpoint|dedup|power): ?(.*)$`)

func heading(line string) (key, value string, ok bool) {
	m := headings.FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	return m[1], strings.TrimSpace(m[2]), true
}

func (st *status) head(key, value string) {
	switch key {
	case "state":
		st.State = value
	case "scan", "scrub":
		if strings.HasPrefix(value, "none requested") {
			break
		}
		if found, ok := parseScan(value); ok {
			st.Scans = append(st.Scans, found)
		} else {
			st.ScanRead = false
		}
	case "errors":
		if value == "No known data errors" {
			st.DataErrors = 0
		} else if m := dataErrors.FindStringSubmatch(value); m != nil {
			st.DataErrors, _ = strconv.ParseInt(m[1], 10, 64)
		}
	}
}

var dataErrors = regexp.MustCompile(`^(\d{1,18}) data errors`)

// treeReader builds the vdev tree of one pool from its indented lines.
type treeReader struct {
	base  int // indentation of the pool's own line; -1 before it
	begun bool
	class string
	stack []*vdev // the last vdev seen at each depth below a class
}

// add takes one line of the config section. The pool and the class headings
// stand at one indentation, and each level below is two deeper.
func (r *treeReader) add(st *status, line string) {
	fields := strings.Fields(line)
	if len(fields) == 0 || fields[0] == "NAME" {
		return
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if !r.begun {
		r.begun, r.base, r.class = true, indent, classData
		st.Root = readVdev(fields)
		return
	}
	depth := (indent - r.base) / 2
	if depth <= 0 {
		r.class, r.stack = fields[0], nil
		return
	}
	if depth > maxDepth || depth > len(r.stack)+1 {
		return
	}
	v := readVdev(fields)
	r.stack = append(r.stack[:depth-1], v)
	if depth == 1 {
		st.Classes[r.class] = append(st.Classes[r.class], v)
		return
	}
	parent := r.stack[depth-2]
	parent.Children = append(parent.Children, v)
}

// readVdev reads a line of the tree: name, state, three counts of errors.
func readVdev(fields []string) *vdev {
	v := &vdev{Name: fields[0]}
	if len(fields) > 1 {
		v.State = fields[1]
	}
	if len(fields) > 4 {
		v.Errors = errorCounts{size(fields[2]), size(fields[3]), size(fields[4])}
	}
	return v
}

// size reads a number as zpool shows it, exact or rounded: 1536, 1.5K, 294M.
// It gives 0 for what is none; use parseSize where that matters.
func size(s string) int64 {
	n, _ := parseSize(s)
	return n
}

// parseSize reads a size in bytes, exact or rounded to a binary unit.
func parseSize(s string) (int64, bool) {
	if n, ok := parseCount(s); ok {
		return n, true
	}
	s = strings.TrimSuffix(s, "B")
	if s == "" {
		return 0, false
	}
	unit := strings.IndexByte("KMGTPE", s[len(s)-1])
	if unit < 0 {
		n, ok := parseCount(s)
		return n, ok
	}
	f, err := strconv.ParseFloat(s[:len(s)-1], 64)
	if err != nil || f < 0 || f > 8192 {
		return 0, false
	}
	f *= float64(int64(1) << (10 * (unit + 1)))
	if f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}
