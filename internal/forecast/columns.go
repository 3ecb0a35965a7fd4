package forecast

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/hint"
)

// What columns are called: small letters, words apart, without their unit.
var (
	dateColumns = []string{"date", "timestamp", "datetime", "date time", "time stamp", "t", "day", "time", "at", "ts", "collected at", "epoch", "unix", "unixtime", "unix time"}
	usedColumns = []string{"", "used", "value", "used space", "usedspace", "space used", "disk used", "used size", "size used", "usage", "disk usage", "use",
		"consumed", "space consumed", "consumed space", "occupied", "alloc", "allocated"}
	sizeColumns = []string{"blocks", "size", "limit", "capacity", "total", "total size", "total space", "total capacity", "disk size", "quota"}
	freeColumns = []string{"free", "available", "avail", "free space", "freespace", "space free", "available space"}
	// what tells things apart that one file tells of
	thingColumns = []string{"host", "hostname", "server", "instance", "filesystem", "file system", "mount", "mountpoint", "mount point", "mounted on", "mounted", "path",
		"disk", "device", "drive", "drive letter", "volume", "pool", "zpool", "dataset", "database", "datname", "db", "schema", "tablespace", "table", "collection", "name",
		"owner", "kind", "cluster", "node", "partition", "share", "bucket", "namespace"}
	// what is counted otherwise than in bytes: how large one is the header does not say
	otherThings = []string{"block", "blocks", "page", "pages", "sector", "sectors", "extents", "inodes", "files", "rows"}
)

// columns are where a row has what, and how many the header names.
type columns struct {
	date, clock, used, size, free int // -1: nowhere
	usedUnit, sizeUnit, freeUnit  unit
	things                        []int
	named                         int
	headless                      bool   // there is no header: the first row is data
	lone                          string // the column of sizes that is taken for what is used, where none is called so
}

// title is what a cell of the header says.
type title struct {
	name string
	unit unit
}

var (
	notWord  = strings.NewReplacer("(", " ", ")", " ", "[", " ", "]", " ", "_", " ", "-", " ", ".", " ", "/", " ", ":", " ", "%", " percent ", "\u00a0", " ")
	joinedTo = regexp.MustCompile(`^(used|usedspace|size|total|capacity|value|free|freespace|available)([kmgtp]i?b|bytes|percent|pct)$`)
	inBlocks = regexp.MustCompile(`^([0-9]+)([kmgt]?)b?$`)
)

// prettySizes is what psql calls a column of pg_size_pretty, whose kB, MB and GB are powers of 1024.
const prettySizes = "pg size pretty"

// titleOf parts a cell such as "Used (GiB)", "used_gb", "UsedGB" or "1K-blocks".
func titleOf(cell string) (t title) {
	words := strings.Fields(notWord.Replace(strings.ToLower(cell)))
	t.unit = unit{bytes: 1}
	switch n := len(words); {
	case n == 0:
		t.name = "?" // one without a name is none of those that are looked for
		return t
	case n == 1:
		if m := joinedTo.FindStringSubmatch(words[0]); m != nil {
			words = m[1:]
		} else if u, is := unitOf(words[0]); is && len(words[0]) > 1 {
			return title{"", u}
		}
	case n == 2 && words[1] == "blocks":
		if m := inBlocks.FindStringSubmatch(words[0]); m != nil {
			each, _ := unitOf(m[2])
			return title{"blocks", unit{word: words[0], bytes: each.bytes * float64(toInt(m[1]))}}
		}
	}
	for _, i := range []int{len(words) - 1, 0} {
		if u, is := unitOf(words[i]); is && len(words) > 1 && (i > 0 || len(words[0]) > 1) {
			t.unit = u
			words = slices.Delete(words, i, i+1)
			break
		}
	}
	t.name = strings.Join(words, " ")
	t.unit.binary = t.name == prettySizes
	return t
}

// columnsOf finds the columns by the header. dates tells what is one where there is none.
func columnsOf(head []string, d *dates) (columns, error) {
	is := columns{clock: -1, named: len(head)}
	if len(head) > mostCells {
		return is, hint.With(fmt.Errorf("the header has more than %d columns", mostCells), wanted)
	}
	if i := slices.IndexFunc(head, func(cell string) bool { return isDate(cell, d) }); i >= 0 {
		return headless(head, i)
	}
	titles := make([]title, len(head))
	for i, cell := range head {
		titles[i] = titleOf(cell)
		if slices.Contains(thingColumns, titles[i].name) {
			is.things = append(is.things, i)
		}
	}
	is.date = columnOf(titles, dateColumns, anyUnit)
	if time := columnOf(titles, []string{"time", "clock", "time of day"}, anyUnit); time != is.date {
		is.clock = time
	}
	if is.date < 0 {
		is.date = onlyOne(titles, "date", "time", "timestamp", "at")
	}
	is.size = columnOf(titles, sizeColumns, notPercent)
	is.free = columnOf(titles, freeColumns, notPercent)
	for _, fits := range []func(title) bool{func(t title) bool { return t.name != "" && t.unit.word != "" && notPercent(t) }, notPercent, anyUnit} {
		if is.used = columnOf(titles, usedColumns, fits); is.used >= 0 {
			break
		}
	}
	if is.used < 0 {
		is.used = onlyOne(titles, "used", "usage")
	}
	if size := onlyOne(titles, "size"); is.used < 0 && is.free < 0 && size >= 0 { // of a database, which fills it
		is.used, is.size, is.lone = size, -1, strings.TrimSpace(head[size])
	}
	for _, i := range []int{is.used, is.size, is.free} {
		if i >= 0 && slices.Contains(titles[i+1:], titles[i]) {
			return is, hint.With(fmt.Errorf("two columns are called %s", Clip(strings.TrimSpace(head[i]))), "if each is for something else, write a row for each, as date,name,used_bytes")
		}
		if i >= 0 && countsOther(titles[i]) {
			return is, hint.With(fmt.Errorf("the column %s does not count bytes, and how many bytes one of them has is not known", Clip(strings.TrimSpace(head[i]))), "give bytes, or name the unit, as used_kib")
		}
	}
	switch {
	case is.date < 0 && is.used >= 0 && len(is.things) > 0:
		return is, hint.With(fmt.Errorf("the header has no column for the date: %s", Clip(strings.Join(head, ", "))),
			"what df and zfs list print has no date: write the day when it was taken into each row, and date above it")
	case is.date < 0:
		return is, hint.With(fmt.Errorf("the header has no column for the date: %s", Clip(strings.Join(head, ", "))), "call one of them date; "+wanted)
	case is.used < 0 && (is.size < 0 || is.free < 0):
		return is, hint.With(fmt.Errorf("the header has no column for the bytes: %s", Clip(strings.Join(head, ", "))), is.unused()+wanted)
	}
	unitIn := func(i int) unit {
		switch {
		case i < 0:
			return unit{bytes: 1}
		case titles[i].unit.word == "" && is.size >= 0 && titles[is.size].name == "blocks":
			return titles[is.size].unit // df counts all in the blocks that it names
		}
		return titles[i].unit
	}
	is.usedUnit, is.sizeUnit, is.freeUnit = unitIn(is.used), unitIn(is.size), unitIn(is.free)
	return is, nil
}

// unused says what to do where no column is what is used.
func (is columns) unused() string {
	switch others := is.named - len(is.things) - 1; {
	case is.free >= 0:
		return "free space shows used space only if the size is known: add a column size_bytes, or one used_bytes; "
	case others > 1:
		return "call one of them used_bytes, or by its unit used_gb or used_gib; if each is for something else, write a row for each, as date,name,used_bytes; "
	}
	return "call one of them used_bytes, or by its unit used_gb or used_gib; "
}

// countsOther tells whether a column counts something else than bytes.
func countsOther(t title) bool {
	return t.unit.word == "" && slices.ContainsFunc(strings.Fields(t.name), func(w string) bool { return slices.Contains(otherThings, w) })
}

func anyUnit(title) bool      { return true }
func notPercent(t title) bool { return !t.unit.percent }

func columnOf(titles []title, names []string, fits func(title) bool) int {
	for _, name := range names {
		if i := slices.IndexFunc(titles, func(t title) bool { return t.name == name && fits(t) }); i >= 0 {
			return i
		}
	}
	return -1
}

// onlyOne is the one column that has one of some words in its name; where there are several, which
// of them is meant is not known.
func onlyOne(titles []title, words ...string) (found int) {
	found = -1
	for i, t := range titles {
		if !slices.ContainsFunc(strings.Fields(t.name), func(w string) bool { return slices.Contains(words, w) }) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// isDate tells whether a cell is a date.
func isDate(cell string, d *dates) bool {
	cell = strings.TrimSpace(cell)
	_, err := d.parse(cell, 1)
	return err == nil
}

// headless is what two columns without a header are.
func headless(row []string, date int) (columns, error) {
	other := 1 - date
	if len(row) == 2 {
		if number, _ := cut(row[other]); number != "" {
			return columns{date: date, used: other, clock: -1, size: -1, free: -1, usedUnit: unit{bytes: 1}, named: 2, headless: true}, nil
		}
	}
	return columns{}, hint.With(fmt.Errorf("its first line is data, and there is no header that says what its columns are: %d", len(row)),
		"put a line before it such as date,used_bytes or date,mount,used_bytes,size_bytes")
}
