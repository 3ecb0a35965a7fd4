package rehearse

import (
	"cmp"

	"plumb/internal/lab/experiment"
)

const (
	usualScript    = "oltp_read_write"
	defaultThreads = 8
	tables         = 4
	fewHouses      = 4 // whose consistency is tested in seconds
)

// load is what the sandbox is put under.
func (d *draft) load() experiment.Load {
	if d.want.Like != nil {
		return d.want.Like.Load
	}
	return d.want.load(d.size.data, d.threads())
}

// load is the one that is asked for, with about so many bytes of data.
func (w Want) load(data int64, threads int) experiment.Load {
	if w.Workload == experiment.TPCC {
		return experiment.Load{Kind: experiment.TPCC, Warehouses: int(max(1, data/experiment.HouseBytes)), Threads: threads}
	}
	return experiment.Load{Kind: experiment.OLTP, Script: cmp.Or(w.Workload, usualScript), Tables: tables,
		Rows: max(1000, data/tables/experiment.RowBytes), Threads: threads}
}

// threads are as many as were asked for, or as the server was seen to be busy
// with; a quiet moment says nothing.
func (d *draft) threads() int {
	if d.want.Threads > 0 {
		return d.want.Threads
	}
	busy, _ := d.server.Int(kindOf(d.server.Ref.Kind).busy)
	cpus := int64(1)
	if host := d.stack.Host(); host != nil {
		n, _ := host.Int("cpus")
		cpus = max(cpus, n)
	}
	return int(max(defaultThreads, min(busy, 4*cpus)))
}

// checks are the invariants that each trial must leave: a setting that loses
// rows must not win.
func checks(l experiment.Load) []string {
	switch {
	case l.Kind == experiment.TPCC && l.Warehouses <= fewHouses:
		return []string{experiment.NoErrors, experiment.Consistency}
	case l.Kind == experiment.OLTP && experiment.KeepsRows(l.Script):
		return []string{experiment.NoErrors, experiment.Rows}
	}
	return []string{experiment.NoErrors}
}
