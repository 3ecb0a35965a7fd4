package zfs

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// readPools reads every imported pool: space and health, layout, properties.
func (l *look) readPools(ctx context.Context) {
	argv := l.tools.Space()
	text, err := l.output(ctx, argv...)
	if err != nil {
		why, hint := because(err)
		l.obs.Gap(stack.Ref{}, "the ZFS pools could not be listed: "+why, hint)
		return
	}
	source := strings.Join(argv[:2], " ")
	for _, row := range zfs.ParseRows(text, 8) {
		p := l.obs.New("pool", row[0])
		l.pools[row[0]] = p
		l.listed(p, row, source)
	}
	if len(l.pools) == 0 {
		return
	}
	l.readStatus(ctx)
	l.poolProperties(ctx)
	l.ashift(ctx)
	l.kstats(ctx)
}

// listed records one row of zpool list, whose columns are those of Tools.Space;
// "-" means the pool cannot tell.
func (l *look) listed(p *stack.Thing, row []string, source string) {
	columns := []string{"size", "allocated", "free", "capacity", "fragmentation", "dedupratio", "health"}
	if l.tools.Fuse {
		columns[4] = "pool_version"
		p.SetAbsent("fragmentation", source)
	}
	for i, fact := range columns {
		if v, ok := l.value(row[i+1], l.catalog.Fact("pool", fact)); ok {
			p.Set(fact, v, source)
		}
	}
}

var statusFacts = []string{
	"layout", "redundant", "has_log", "log_mirrored", "has_cache", "has_special", "special_redundant",
	"vdev_paths", "log_paths", "cache_paths", "special_paths", "vdevs", "unhealthy_devices",
	"read_errors", "write_errors", "checksum_errors", "data_errors", "scan", "scan_errors", "scrub_age",
}

func (l *look) readStatus(ctx context.Context) {
	all, source, err := l.status(ctx)
	if err != nil {
		for _, name := range slices.Sorted(maps.Keys(l.pools)) {
			l.gap(l.pools[name].Ref, err, statusFacts...)
		}
		return
	}
	for _, st := range all {
		if p := l.pools[st.Pool]; p != nil {
			layoutFacts(p, st, source)
			l.scanFacts(p, st, source)
		}
	}
}

// status asks in the form the commands know. The JSON form is exact about
// times; should it be cut or unreadable, the text tells the same.
func (l *look) status(ctx context.Context) ([]zfs.Status, string, error) {
	if l.tools.JSON {
		text, err := l.output(ctx, zfs.StatusJSON()...)
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, "", err
		}
		if err == nil {
			if all, err := zfs.ParseStatusJSON(text); err == nil {
				return all, "zpool status -j", nil
			}
		}
	}
	text, err := l.output(ctx, l.tools.Status()...)
	if err != nil {
		return nil, "", err
	}
	return zfs.ParseStatus(text), "zpool status", nil
}

// layoutFacts records what the pool is made of.
func layoutFacts(p *stack.Thing, st zfs.Status, source string) {
	data := st.Classes[zfs.ClassData]
	if kind := zfs.Layout(data); kind != "" {
		p.Set("layout", stack.Text(kind), source)
		p.Set("redundant", stack.Bool(zfs.AllRedundant(data)), source)
		p.Set("vdevs", stack.Int(int64(len(data))), source)
	}
	for class, names := range map[string][2]string{
		zfs.ClassLogs: {"has_log", "log_mirrored"}, zfs.ClassCache: {"has_cache", ""}, zfs.ClassSpecial: {"has_special", "special_redundant"},
	} {
		tops := st.Classes[class]
		p.Set(names[0], stack.Bool(len(tops) > 0), source)
		switch {
		case names[1] == "":
		case len(tops) == 0:
			p.SetAbsent(names[1], source)
		default:
			p.Set(names[1], stack.Bool(zfs.AllRedundant(tops)), source)
		}
	}
	for class, fact := range map[string]string{
		zfs.ClassData: "vdev_paths", zfs.ClassLogs: "log_paths", zfs.ClassCache: "cache_paths", zfs.ClassSpecial: "special_paths",
	} {
		p.Set(fact, stack.List(zfs.Paths(st.Classes[class])), source)
	}
	var all []*zfs.Vdev
	for _, class := range []string{zfs.ClassData, zfs.ClassLogs, zfs.ClassCache, zfs.ClassSpecial, zfs.ClassDedup} {
		all = append(all, st.Classes[class]...)
	}
	var unhealthy []string
	for _, v := range zfs.Leaves(all) {
		if v.State != "ONLINE" {
			unhealthy = append(unhealthy, v.Name+" "+v.State)
		}
	}
	pool := zfs.Vdev{Children: all}
	if st.Root != nil {
		pool.Errors = st.Root.Errors
	}
	e := pool.AllErrors()
	p.Set("read_errors", stack.Int(e.Read), source)
	p.Set("write_errors", stack.Int(e.Write), source)
	p.Set("checksum_errors", stack.Int(e.Checksum), source)
	slices.Sort(unhealthy)
	p.Set("unhealthy_devices", stack.List(unhealthy), source)
}

// scanFacts records the last scrub and the last resilvers. OpenZFS keeps one
// record for scrubs and resilvers that follow the block tree, so that after
// such a resilver the age of the last scrub is not known.
func (l *look) scanFacts(p *stack.Thing, st zfs.Status, source string) {
	if st.DataErrors >= 0 {
		p.Set("data_errors", stack.Int(st.DataErrors), source)
	} else {
		l.obs.Gap(p.Ref, "zpool status gives no number of damaged files", "run `zpool status -v POOL` as root", "data_errors")
	}
	if !st.ScanRead {
		l.obs.Gap(p.Ref, "the line about the last scan was not understood", "", "scan", "scan_errors", "scrub_age")
		return
	}
	word := st.ScanWord()
	p.Set("scan", stack.Text(word), source)
	if n := st.ScanErrors(); n >= 0 {
		p.Set("scan_errors", stack.Int(n), source)
	} else {
		p.SetAbsent("scan_errors", source)
	}
	switch end := st.LastScrub(); {
	case end > 0:
		p.Set("scrub_age", stack.Int(max(0, l.h.About().Taken.Unix()-end)), source)
	case len(st.Scans) == 0:
		p.SetAbsent("scrub_age", source)
	default:
		l.obs.Gap(p.Ref, "zpool status shows no finished scrub; the last scan is: "+word, "see `zpool history POOL`", "scrub_age")
	}
}

func (l *look) poolProperties(ctx context.Context) {
	knobs := l.catalog.Knobs("pool")
	for _, name := range slices.Sorted(maps.Keys(l.pools)) {
		p := l.pools[name]
		text, err := l.output(ctx, l.tools.PoolProperties(name)...)
		if err != nil {
			names := append(slices.Collect(maps.Keys(knobs)), "cloned", "pool_version")
			slices.Sort(names)
			l.gap(p.Ref, err, names...)
			continue
		}
		setPoolProperties(p, l.tools.ParsePool(text), knobs, "zpool get")
	}
}

func setPoolProperties(p *stack.Thing, all []zfs.Property, knobs map[string]*catalog.Fact, source string) {
	given := map[string]zfs.Property{}
	for _, prop := range all {
		if prop.Of == p.Ref.Name {
			given[prop.Name] = prop
		}
	}
	if len(given) == 0 {
		return
	}
	for name := range knobs {
		switch prop, have := given[name]; {
		case name == "ashift":
			if n, ok := zfs.ParseCount(prop.Value); ok && n > 0 { // 0 says only that it was found out at creation
				p.Setting(name, stack.Int(n), source, origin(prop.Source))
			}
		case !have:
			p.SetAbsent(name, source)
		case prop.Value == "-": // zpool's way to write nothing
			p.Setting(name, stack.Text(""), source, origin(prop.Source))
		default:
			p.Setting(name, stack.Text(prop.Value), source, origin(prop.Source))
		}
	}
	// A version that is "-" is that of a pool with features in place of one.
	for fact, name := range map[string]string{"pool_version": "version", "cloned": "bcloneused"} {
		prop, have := given[name]
		if n, ok := zfs.ParseCount(prop.Value); ok {
			p.Set(fact, stack.Int(n), source)
		} else if have == (fact == "pool_version") {
			p.SetAbsent(fact, source)
		}
	}
}

// ashift takes the sector size in use from the cached configuration, which is
// per vdev and right also where the property was left at 0.
func (l *look) ashift(ctx context.Context) {
	text, err := l.output(ctx, zfs.CachedConfiguration()...)
	least := zfs.ParseAshift(text)
	for _, name := range slices.Sorted(maps.Keys(l.pools)) {
		p := l.pools[name]
		if n, ok := least[name]; ok && err == nil {
			p.Setting("ashift", stack.Int(n), "zdb -C", stack.Origin{From: stack.FromLocal})
			continue
		}
		if _, ok := p.Int("ashift"); ok {
			continue
		}
		if err != nil {
			l.gap(p.Ref, err, "ashift")
			continue
		}
		l.obs.Gap(p.Ref, "ashift is 0 (found out when the pool was made) and `zdb -C` does not list the pool",
			"a pool without a cache file: try `zdb -e -C "+name+"`", "ashift")
	}
}

// kstats reads a pool's own figures; only OpenZFS has them.
func (l *look) kstats(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(l.pools)) {
		p := l.pools[name]
		if l.tools.Fuse {
			p.Absent(fuseKstat, "txg_count", "txg_sync_max", "txg_slow", "direct_reads", "direct_writes")
			continue
		}
		file := path.Join(kstatDir, name, "txgs")
		text, err := l.h.ReadFile(ctx, file)
		if err != nil && !errors.Is(err, host.ErrTooLarge) {
			l.gap(p.Ref, err, "txg_count", "txg_sync_max", "txg_slow")
		} else {
			setSyncTimes(p, syncTimes(text), file)
		}
		file = path.Join(kstatDir, name, "iostats")
		text, err = l.h.ReadFile(ctx, file)
		if err != nil {
			l.gap(p.Ref, err, "direct_reads", "direct_writes")
			continue
		}
		observe.SetFigures(p, zfs.ParseKstat(text), l.catalog.ReadFrom("pool", "iostats "), file)
	}
}

// slowSync is the default of zfs_txg_timeout: a group that takes longer to
// write than the next one takes to fill is the sign of a saturated pool.
const slowSync = 5_000_000 // µs

func setSyncTimes(p *stack.Thing, times []int64, source string) {
	p.Set("txg_count", stack.Int(int64(len(times))), source)
	if len(times) == 0 {
		return
	}
	slow := int64(0)
	for _, t := range times {
		if t > slowSync {
			slow++
		}
	}
	p.Set("txg_slow", stack.Int(slow), source)
	p.Set("txg_sync_max", stack.Int(slices.Max(times)), source)
}
