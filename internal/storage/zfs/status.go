package zfs

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxDepth bounds the nesting of vdevs; real pools have at most four levels.
const maxDepth = 8

// parseStatus reads the text of `zpool status`, of one or more pools.
func parseStatus(text []byte) []status {
	var all []status
	var section string
	var tree *treeReader
	var scanned bool // the pool has a line about a scan
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		key, value, ok := heading(line)
		if ok && key == "pool" {
			all = append(all, status{Pool: value, Classes: map[string][]*vdev{}, ScanErrors: -1, DataErrors: -1})
			tree, scanned = &treeReader{}, false
		}
		if len(all) == 0 {
			continue
		}
		st := &all[len(all)-1]
		if ok {
			section = key
			scanned = scanned || key == "scan" || key == "scrub"
			if key == "config" && !scanned {
				st.Scan = "none" // OpenZFS has no line then, zfs-fuse says so
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
	case "scan":
		st.scan(value)
	case "scrub": // zfs-fuse puts the heading and the kind of scan apart
		st.scan(value)
	case "errors":
		if value == "No known data errors" {
			st.DataErrors = 0
		} else if m := dataErrors.FindStringSubmatch(value); m != nil {
			st.DataErrors, _ = strconv.ParseInt(m[1], 10, 64)
		}
	}
}

var (
	dataErrors = regexp.MustCompile(`^(\d{1,18}) data errors`)
	finished   = regexp.MustCompile(`^(scrub completed|resilver completed|scrub repaired|resilvered).* with (\d{1,18}) errors on (.*)$`)
)

// scan reads the one line about the last scrub or resilver. Its times are
// those of the host's clock, without a zone.
func (st *status) scan(value string) {
	if m := finished.FindStringSubmatch(value); m != nil {
		st.Scan = "scrubbed"
		if strings.HasPrefix(m[1], "resilver") {
			st.Scan = "resilvered"
		}
		st.ScanErrors, _ = strconv.ParseInt(m[2], 10, 64)
		if t, err := time.Parse(time.ANSIC, m[3]); err == nil {
			st.ScanEnd = t.Unix()
		}
		return
	}
	for prefix, scan := range map[string]string{
		"none requested": "none", "scrub in progress": "scrubbing", "resilver in progress": "resilvering",
		"scrub canceled": "scrub canceled", "scrub stopped": "scrub canceled", "scrub paused": "scrub paused",
		"resilver canceled": "resilver canceled", "resilver stopped": "resilver canceled",
	} {
		if strings.HasPrefix(value, prefix) {
			st.Scan = scan
		}
	}
}

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
	v := &vdev{Name: fields[0]}
	if len(fields) > 1 {
		v.State = fields[1]
	}
	if len(fields) > 4 {
		v.Read, v.Write, v.Checksum = size(fields[2]), size(fields[3]), size(fields[4])
	}
	r.stack = append(r.stack[:depth-1], v)
	if depth == 1 {
		st.Classes[r.class] = append(st.Classes[r.class], v)
		return
	}
	parent := r.stack[depth-2]
	parent.Children = append(parent.Children, v)
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
