package load

import (
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/load/files"
	"plumb/internal/load/oltp"
	"plumb/internal/load/tpcc"
	"plumb/internal/units"
)

// Options are those that decide what a run does, as the head of its result has
// them.
type Options []Option

func (l *Options) add(name, value string) { *l = append(*l, Option{name, value}) }

// number adds a number that is not what is usual.
func (l *Options) number(name string, is, usual int64) {
	if is != usual {
		l.add(name, strconv.FormatInt(is, 10))
	}
}

// Ledger adds the file of a run's ledger, where it has one.
func (l Options) Ledger(file string) Options {
	if file != "" {
		l.add("ledger", file)
	}
	return l
}

// OLTPOptions are those of sysbench's scripts. rows says which rows are hit, and
// statements how they are sent.
func OLTPOptions(c oltp.Config, rows, statements string) (l Options) {
	l.add("tables", strconv.Itoa(c.Tables))
	l.add("table-size", strconv.FormatInt(c.TableSize, 10))
	l.add("rand-type", rows)
	l.add("db-ps-mode", statements)
	for _, o := range []struct {
		name      string
		on, usual bool
	}{{"skip-trx", c.SkipTrx, false}, {"range-selects", c.RangeSelects, true}, {"auto-inc", c.AutoInc, true}, {"secondary", c.Secondary, false}} {
		if o.on != o.usual {
			l.add(o.name, map[bool]string{true: "on", false: "off"}[o.on])
		}
	}
	d := oltp.Defaults()
	l.number("range-size", c.RangeSize, d.RangeSize)
	for _, o := range []struct {
		name      string
		is, usual int
	}{{"point-selects", c.PointSelects, d.PointSelects}, {"simple-ranges", c.SimpleRanges, d.SimpleRanges}, {"sum-ranges", c.SumRanges, d.SumRanges},
		{"order-ranges", c.OrderRanges, d.OrderRanges}, {"distinct-ranges", c.Distinct, d.Distinct}, {"index-updates", c.IndexUpdates, d.IndexUpdates},
		{"non-index-updates", c.NonIndex, d.NonIndex}, {"delete-inserts", c.DeleteInsert, d.DeleteInsert},
		{"random-points", c.RandomPoints, d.RandomPoints}, {"number-of-ranges", c.Ranges, d.Ranges}} {
		l.number(o.name, int64(o.is), int64(o.usual))
	}
	l.number("delta", c.Delta, d.Delta)
	return l
}

// TPCCOptions are those of TPC-C. compat names what it does as, or is "".
func TPCCOptions(c tpcc.Config, compat string) (l Options) {
	l.add("scale", strconv.FormatInt(c.Warehouses, 10))
	if c.Compat {
		l.add("compat", compat)
		l.add("tables", strconv.Itoa(c.Sets))
	}
	if c.Purge {
		l.add("enable-purge", "on")
	}
	if c.Keying {
		l.add("keying", "on")
	}
	return l
}

// FileReport has what a reader must know of a run of files. total and block are
// their sizes and flags what they are opened with, as they were written.
func FileReport(c files.IOConfig, total, block string, flags []string) Report {
	var l Options
	r := Report{Place: c.Dir}
	l.add("file-test-mode", c.Mode)
	l.add("file-num", strconv.Itoa(c.Files))
	l.add("file-total-size", total)
	l.add("file-block-size", block)
	if len(flags) > 0 {
		l.add("file-extra-flags", strings.Join(flags, ","))
	}
	if c.Mode == files.RandBoth {
		l.add("file-rw-ratio", fmt.Sprintf("%g", c.RWRatio))
	}
	if c.Writes() {
		switch {
		case c.FsyncAll:
			l.add("file-fsync-all", c.FsyncMode)
		case c.FsyncFreq > 0:
			l.add("file-fsync-freq", strconv.Itoa(c.FsyncFreq))
			r.Warnings = append(r.Warnings, fmt.Sprintf("after every %s all %s synced one by one, as sysbench does; fsyncs are operations of their own", units.Count(c.FsyncFreq, "request"), units.Counted(c.Files, "file", "is", "are")))
		}
		l.add("compressible", fmt.Sprintf("%g", c.Compressible))
	}
	r.Options = l
	return r
}
