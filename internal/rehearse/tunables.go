package rehearse

import (
	"time"

	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
	"plumb/internal/search"
	"plumb/internal/units"
)

// dialLimits is what limits the values that may be tried.
type dialLimits struct {
	setup   experiment.Setup
	memory  int64 // bytes that server and page cache share; 0: no limit is known
	measure time.Duration
}

const mebibyte = 1 << 20

// ratios gives a dimension on which ratios count.
func ratios(name string, low, high, step float64) search.Dimension {
	return search.Dimension{Name: name, Low: low, High: high, Log: true, Step: step}
}

// choices gives a dimension with a few values, rising.
func choices(name string, values ...float64) search.Dimension {
	return search.Dimension{Name: name, Low: values[0], High: values[len(values)-1], Grid: values}
}

func serverPath(name string) string { return "server.settings." + name }

// candidates gives all dials of an engine, whether they fit here or not.
func (l dialLimits) candidates(engine string, has func(name string) bool) []Tunable {
	k := kindOf(experiment.KindOf(engine))
	return append(k.tunables(l, has), l.records(k.page)...)
}

// journal is the most that redo or WAL between checkpoints may take: more than
// a sandbox's trial writes shows nothing.
func (l dialLimits) journal() float64 {
	const least, most = 512 * mebibyte, 4096 * mebibyte
	if l.memory <= 0 {
		return 2048 * mebibyte
	}
	return float64(min(most, max(least, l.memory)))
}

// mysql gives the dials of MySQL, MariaDB and Percona Server. Left out are those
// that trade durability, and switches.
func (l dialLimits) mysql(has func(name string) bool) []Tunable {
	const kind = product.MySQL
	redo := "innodb_log_file_size"
	if has("innodb_redo_log_capacity") {
		redo = "innodb_redo_log_capacity"
	}
	memory := float64(l.memory)
	return []Tunable{
		{Dimension: ratios("innodb_buffer_pool_size", 0.1*memory, 0.75*memory, 8*mebibyte), Kind: kind, Type: catalog.Bytes, Path: serverPath("innodb_buffer_pool_size"), Memory: true},
		{Dimension: ratios(redo, 64*mebibyte, l.journal(), 4*mebibyte), Kind: kind, Type: catalog.Bytes, Path: serverPath(redo), Slow: true},
		{Dimension: ratios("innodb_io_capacity", 100, 20000, 50), Kind: kind, Type: catalog.Int, Path: serverPath("innodb_io_capacity"),
			Also: map[string]float64{serverPath("innodb_io_capacity_max"): 2}},
		{Dimension: search.Dimension{Name: "innodb_max_dirty_pages_pct", Low: 10, High: 90, Step: 5}, Kind: kind, Type: catalog.Percent,
			Path: serverPath("innodb_max_dirty_pages_pct"), Slow: true},
	}
}

// postgres gives the dials of PostgreSQL.
func (l dialLimits) postgres() []Tunable {
	const kind = product.Postgres
	memory := float64(l.memory)
	dial := func(d search.Dimension, t catalog.Type) Tunable {
		return Tunable{Dimension: d, Kind: kind, Type: t, Path: serverPath(d.Name)}
	}
	slow := func(d Tunable) Tunable { d.Slow = true; return d }
	cache := dial(ratios("shared_buffers", 0.05*memory, 0.6*memory, 8*mebibyte), catalog.Bytes)
	cache.Memory = true
	return []Tunable{
		cache,
		slow(dial(ratios("max_wal_size", 128*mebibyte, 2*l.journal(), 16*mebibyte), catalog.Bytes)),
		dial(choices("wal_compression", 0, 1), catalog.Bool),
		slow(dial(choices("checkpoint_completion_target", 0.5, 0.6, 0.7, 0.8, 0.9, 0.95), catalog.Float)),
		slow(dial(ratios("checkpoint_timeout", 30, max(30, l.measure.Seconds()), 5), catalog.Seconds)),
		dial(choices("effective_io_concurrency", 1, 4, 16, 64, 256), catalog.Int),
		dial(ratios("wal_buffers", 4*mebibyte, 64*mebibyte, mebibyte), catalog.Bytes),
		dial(ratios("bgwriter_lru_maxpages", 100, 1000, 50), catalog.Int),
		dial(ratios("bgwriter_delay", 10, 200, 10), catalog.Millis),
	}
}

// records gives the record size, where the data are on ZFS. It is no smaller
// than a page, so that ZFS replaces whole pages.
func (l dialLimits) records(page float64) []Tunable {
	if kind := l.setup.Volume.Kind; kind != experiment.Zpool && kind != experiment.Dataset {
		return nil
	}
	if n, err := experiment.ParseBytes(l.setup.Server.Create["innodb_page_size"]); err == nil && n > 0 {
		page = float64(n)
	}
	sizes := []float64{page}
	for size := 2 * page; size <= 128<<10; size *= 2 {
		sizes = append(sizes, size)
	}
	return []Tunable{{Dimension: choices("recordsize", sizes...), Kind: "dataset", Type: catalog.Bytes, Path: "volume.properties.recordsize"}}
}

// unfit says why a dial cannot be searched here; "" when it can.
func (l dialLimits) unfit(d Tunable) string {
	const enough = 2 * time.Minute
	switch {
	case d.Memory && l.memory <= 0:
		return "the sandbox's memory has no limit, so that nothing says how large it may be"
	case d.Name == "checkpoint_timeout" && l.measure < enough:
		return "trials of " + units.Short(l.measure) + " contain no timed checkpoint"
	case len(d.Grid) == 0 && d.High < 1.5*d.Low || d.Grid != nil && len(d.Grid) < 2:
		return "there is nothing to choose here"
	}
	return ""
}
