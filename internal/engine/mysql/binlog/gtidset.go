package binlog

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Set is a set of GTIDs of MySQL: of each source, which is a UUID and perhaps a tag, the numbers.
type Set map[string][]interval

// interval is some numbers, one behind the other. Those of a source are in order, and between two of them there is a number of neither.
type interval struct{ from, end uint64 } // end is the first behind it

var (
	uuidForm  = regexp.MustCompile(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	tagForm   = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,31}$`)
	rangeForm = regexp.MustCompile(`^([0-9]{1,19})(?:-([0-9]{1,19}))?$`)
)

// parseSet reads a set as gtid_executed has it: uuid:1-5:7 and, with tags, uuid:1-5:tag:1-3.
func parseSet(text string) (Set, error) {
	set := Set{}
	for one := range strings.SplitSeq(strings.ToLower(text), ",") {
		parts := strings.Split(strings.TrimSpace(one), ":")
		if parts[0] == "" && len(parts) == 1 {
			continue
		}
		if !uuidForm.MatchString(parts[0]) {
			return nil, fmt.Errorf("%.100q is not a set of GTIDs", one)
		}
		source := parts[0]
		for _, part := range parts[1:] {
			if tagForm.MatchString(part) {
				source = parts[0] + ":" + part
				continue
			}
			from, last := numbers(part)
			if from < 1 || last < from {
				return nil, fmt.Errorf("%.100q is not an interval of a set of GTIDs", part)
			}
			set.add(source, interval{from, last + 1})
		}
	}
	return set, nil
}

// numbers reads 7 or 1-5; 0 is none.
func numbers(text string) (from, last uint64) {
	m := rangeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, 0
	}
	from, err := strconv.ParseUint(m[1], 10, 63)
	last, err2 := strconv.ParseUint(cmp.Or(m[2], m[1]), 10, 63)
	if err != nil || err2 != nil || last == math.MaxInt64 {
		return 0, 0
	}
	return from, last
}

// Add adds a GTID as Begins gives it.
func (s Set) Add(gtid string) {
	i := strings.LastIndexByte(gtid, ':')
	if n, err := strconv.ParseUint(gtid[i+1:], 10, 63); i > 0 && err == nil {
		s.add(gtid[:i], interval{n, n + 1})
	}
}

func (s Set) add(source string, x interval) {
	all := s[source]
	i, _ := slices.BinarySearchFunc(all, x.from, func(of interval, at uint64) int { return cmp.Compare(of.end, at) })
	next := i // the first that does not touch it
	for ; next < len(all) && all[next].from <= x.end; next++ {
		x = interval{min(x.from, all[next].from), max(x.end, all[next].end)}
	}
	s[source] = slices.Replace(all, i, next, x)
}

// Beyond gives the first GTID of a set that another does not have; "" where that has all.
func (s Set) Beyond(other Set) string {
	for _, source := range slices.Sorted(maps.Keys(s)) {
		for _, x := range s[source] {
			if end := other.until(source, x.from); end < x.end {
				return fmt.Sprintf("%s:%d", source, end)
			}
		}
	}
	return ""
}

// until is the first number, from one on, that is not in the set.
func (s Set) until(source string, from uint64) uint64 {
	all := s[source]
	i, _ := slices.BinarySearchFunc(all, from+1, func(of interval, at uint64) int { return cmp.Compare(of.end, at) })
	if i < len(all) && all[i].from <= from {
		return all[i].end
	}
	return from
}

// Ahead gives the last GTID of a source of which another set has some, and none as late; "" where there is none.
func (s Set) Ahead(other Set) string {
	for _, source := range slices.Sorted(maps.Keys(other)) {
		if last := s.last(source); last > other.last(source) {
			return fmt.Sprintf("%s:%d", source, last)
		}
	}
	return ""
}

// last is the last number of a source; 0 where the set has none.
func (s Set) last(source string) uint64 {
	if all := s[source]; len(all) > 0 {
		return all[len(all)-1].end - 1
	}
	return 0
}
