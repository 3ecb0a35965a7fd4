package zfs

import (
	"regexp"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of vdevs; real pools have at most four levels.
const maxDepth = 8

// ParseStatus reads the text of `zpool status`, of one or more pools.
func ParseStatus(text []byte) []Status {
	var all []Status
	var section string
	var tree *treeReader
	var scanned bool // the place where scans are told of was met
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		key, value, ok := heading(line)
		if ok && key == "pool" {
			all = append(all, Status{Pool: value, Classes: map[string][]*Vdev{}, DataErrors: -1})
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

func (st *Status) head(key, value string) {
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
	stack []*Vdev // the last vdev seen at each depth below a class
}

// add takes one line of the config section. The pool and the class headings
// stand at one indentation, and each level below is two deeper.
func (r *treeReader) add(st *Status, line string) {
	fields := strings.Fields(line)
	if len(fields) == 0 || fields[0] == "NAME" {
		return
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if !r.begun {
		r.begun, r.base, r.class = true, indent, ClassData
		st.Root = readVdev(fields)
		return
	}
	depth := (indent - r.base) / 2
	if depth <= 0 {
		r.class, r.stack = fields[0], nil
		return
	}
	if depth > maxDepth || depth > len(r.stack)+1 {
		st.Unread++
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
func readVdev(fields []string) *Vdev {
	v := &Vdev{Name: fields[0]}
	if len(fields) > 1 {
		v.State = fields[1]
	}
	if len(fields) > 4 {
		v.Errors = ErrorCounts{size(fields[2]), size(fields[3]), size(fields[4])}
	}
	return v
}
