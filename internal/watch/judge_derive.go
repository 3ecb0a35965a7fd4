package watch

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plumb/internal/product"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// derive adds the facts of knowledge/windows, which are computed from several.
func (j *Judge) derive(w *judged) {
	for _, d := range w.stack.OfKind("block") {
		j.device(w, d)
	}
	for _, p := range w.stack.OfKind("pool") {
		j.pool(w, p)
	}
	for _, l := range w.stack.OfKind("cgroup_device") {
		j.groupLimit(l)
	}
	for _, kind := range product.Kinds() {
		for _, db := range w.stack.OfKind(kind) {
			j.server(w, db)
		}
	}
	j.others(w)
}

// server adds what is derived of a server.
func (j *Judge) server(w *judged, db *stack.Thing) {
	known := j.shares(w, db)
	j.blocker(w, db)
	j.latch(w, db)
	j.coming(w, db)
	active, told := db.Number("sessions_active")
	cpus, counted := hostNumber(w.stack, "cpus")
	if lately, sampled := j.sessions[db.Ref].active(); told && sampled && counted && cpus > 0 {
		j.set(db, "active_per_cpu", lately/cpus)
	}
	stalled := map[string]float64{}
	for _, what := range []string{"cpu", "io", "memory"} {
		if v, ok := w.stall(db, what); ok {
			j.set(db, what+"_stall", v)
			stalled[what] = v
		}
	}
	if s := j.sessions[db.Ref]; s != nil && len(s.samples) > 0 {
		j.ioWait(db, known, stalled)
		j.cpuNeed(w, db, known, min(active, cpus), stalled["cpu"])
	}
}

// ioWait sets a lower bound of the share of a server's time that waits for files.
func (j *Judge) ioWait(db *stack.Thing, known bool, stalled map[string]float64) {
	f, told := db.Facts["share_io_low"]
	stall, accounted := stalled["io"]
	switch {
	case told:
		db.Facts["io_wait"] = f
	case !known && accounted:
		j.set(db, "io_wait", stall)
	}
}

// cpuNeed sets an upper bound of the share of a server's time that needs a processor. A session that waits for nothing that the
// server names need not be running. Its sessions ran no more than the process used a processor, and wanted to run no more than
// that plus the time in which tasks waited for one.
func (j *Judge) cpuNeed(w *judged, db *stack.Thing, known bool, most, stalled float64) {
	if f, told := db.Facts["share_cpu"]; told && f.Value.IsAbsent() {
		db.SetAbsent("cpu_need", "sessions")
		return
	}
	share, told := db.Number("share_cpu")
	if !told || !known {
		share = 1
	}
	used, ok := processor(w.stack, db)
	if !ok || most <= 0 {
		return
	}
	j.set(db, "cpu_need", min(share, used/most+stalled))
}

// processor is how many processors the process of a server used.
func processor(s *stack.Stack, db *stack.Thing) (used float64, ok bool) {
	processes, _ := s.Follow(db, "process")
	for _, p := range processes {
		user, ok := p.Number("cpu_user_ms_rate")
		system, ok2 := p.Number("cpu_system_ms_rate")
		if ok && ok2 {
			return user + system, true
		}
	}
	return 0, false
}

func hostNumber(s *stack.Stack, name string) (float64, bool) {
	if h := s.Host(); h != nil {
		return h.Number(name)
	}
	return 0, false
}

// stall is the share of the time in which some task of a server's control group waited, or of the host if the group is not
// accounted; not known for a server on another host.
func (w *judged) stall(db *stack.Thing, what string) (float64, bool) {
	processes, known := w.stack.Follow(db, "process")
	if !known || len(processes) == 0 {
		return 0, false
	}
	name := "psi_" + what + "_some_us_rate"
	for _, p := range processes {
		groups, _ := w.stack.Follow(p, "cgroup")
		for _, g := range groups {
			if v, ok := g.Number(name); ok {
				return min(v, 1), true
			}
		}
	}
	v, ok := hostNumber(w.stack, name)
	if !ok {
		if h := w.stack.Host(); h != nil {
			g, _ := w.stack.GapFor(h.Ref, name)
			gap(w.stack, db.Ref, g.Why, g.Hint, what+"_stall")
		}
	}
	return min(v, 1), ok
}

// groupLimits are the limits of a control group on a device, the counters they
// are about, and what they are called.
var groupLimits = []struct {
	limit, rate, said string
	shown             func(float64) string
}{
	{"read_iops_limit", "reads_rate", " reads a second", units.Whole},
	{"write_iops_limit", "writes_rate", " writes a second", units.Whole},
	{"read_bytes_limit", "read_bytes_rate", " read a second", units.Size},
	{"write_bytes_limit", "written_bytes_rate", " written a second", units.Size},
}

// groupLimit sets how much of its limits a control group uses on a device.
func (j *Judge) groupLimit(l *stack.Thing) {
	most, by, limited, counted := 0.0, "", false, false
	for _, g := range groupLimits {
		rate, ok := l.Number(g.rate)
		counted = counted || ok
		limit, has := l.Number(g.limit)
		if !has || limit <= 0 {
			continue
		}
		limited = true
		if used := rate / limit; ok && used >= most {
			most, by = used, g.shown(limit)+g.said
		}
	}
	switch {
	case by != "":
		j.set(l, "limit_used", most)
		l.Set("limit_by", stack.Text(by), "limits and counters of the group")
	case counted && !limited:
		l.SetAbsent("limit_used", "limits of the group")
		l.SetAbsent("limit_by", "limits of the group")
	}
}

// completed sets how many requests of all kinds a device finishes: one that discards blocks for a minute does not hang.
func (j *Judge) completed(d *stack.Thing) {
	reads, ok := d.Number("reads_rate")
	writes, ok2 := d.Number("writes_rate")
	discards, _ := d.Number("discards_rate") // not counted before Linux 4.18
	flushes, _ := d.Number("flushes_rate")   // nor before 5.5
	if ok && ok2 {
		j.set(d, "completed", reads+writes+discards+flushes)
	}
}

// device sets what is derived of a block device.
func (j *Judge) device(w *judged, d *stack.Thing) {
	j.completed(d)
	if queue, ok := d.Number("queue_ms_rate"); ok {
		j.set(d, "queue", queue)
	}
	read, ok := d.Number("read_bytes_rate")
	written, ok2 := d.Number("written_bytes_rate")
	if ok && ok2 {
		j.set(d, "bytes_moved", read+written)
	}
	if g := j.devices.growth(d.Ref.Name); g > 0 {
		j.set(d, "unloaded_growth", g)
	} else {
		gap(w.stack, d.Ref, "unloaded response times are compared hour by hour, and there are not two hours yet", "plumb watch record keeps what was learned", "unloaded_growth")
	}
	j.response(w, d)
	most, known := j.devices.ratio(d.Ref, w.to, d)
	switch g, why := w.stack.GapFor(d.Ref, "response_ratio"); {
	case known:
		j.set(d, "response_ratio_most", most)
	case why:
		gap(w.stack, d.Ref, g.Why, g.Hint, "response_ratio_most")
	}
	j.pinned(w, d)
}

// response sets how long requests took, and how much longer than unloaded.
func (j *Judge) response(w *judged, d *stack.Thing) {
	var sum, compared, all float64
	counted := false
	for _, o := range ops {
		rate, ok := d.Number(o.number + "_rate")
		busy, ok2 := d.Number(o.millis + "_rate")
		if !ok || !ok2 {
			continue
		}
		counted = true
		n, seconds := rate*Length.Seconds(), busy*Length.Seconds()
		size := 0.0
		if bytes, ok := d.Number(o.bytes + "_rate"); ok && o.bytes != "" && rate > 0 {
			size = bytes / rate
			j.set(d, o.op+"_size", size)
		}
		r0, learned := j.devices.unloaded(d.Ref.Name, o.op, size)
		if learned {
			j.set(d, o.unloaded, r0)
		}
		if n < leastFlushes || seconds*1000 < leastMillis {
			d.SetAbsent(o.response, "/proc/diskstats")
			continue
		}
		us := seconds / n * 1e6
		j.set(d, o.response, us)
		if o.op == "flush" {
			if learned {
				j.set(d, "flush_ratio", max(1, us/r0))
			}
			continue
		}
		all += n
		if learned {
			sum, compared = sum+n*us/r0, compared+n
		}
	}
	switch {
	case all == 0 && counted:
		d.SetAbsent("response_ratio", "/proc/diskstats")
		d.SetAbsent("capacity_used", "/proc/diskstats")
	case all > 0 && compared >= all/2:
		ratio := max(1, sum/compared)
		j.set(d, "response_ratio", ratio)
		j.set(d, "capacity_used", 1-math.Exp(-occupancy(ratio)))
	case all > 0:
		gap(w.stack, d.Ref, fmt.Sprintf("%s was not yet observed with at most one request of this size in flight", d.Ref.Name),
			fmt.Sprintf("it is learned from %d such seconds; plumb watch record keeps what was learned", leastTimes), "response_ratio", "capacity_used")
	}
}

// others sets which part of a disk's bytes no server asked for, if it is known what all servers did. Processes are read less often
// than disks, so the bytes of the disks are taken for the same seconds. Below ZFS, btrfs and arrays one byte that is written
// becomes several, and nothing can be said.
func (j *Judge) others(w *judged) {
	w.mixedDisks()
	total, told := w.changedBefore()
	if !told {
		return
	}
	var from, to time.Time
	disks := map[stack.Ref]bool{}
	for _, kind := range product.Kinds() {
		for _, db := range w.stack.OfKind(kind) {
			processes, known := w.stack.Follow(db, "process")
			if !known {
				return
			}
			for _, p := range processes {
				read, ok := p.Number("read_bytes_rate")
				written, ok2 := p.Number("written_bytes_rate")
				a, b, ok3 := j.span(p.Ref, "written_bytes")
				if !ok || !ok2 || !ok3 {
					return
				}
				total += read + written
				if from.IsZero() || a.Before(from) {
					from = a
				}
				if b.After(to) {
					to = b
				}
			}
			w.plainDisks(db, disks)
		}
	}
	for of := range disks {
		d := w.stack.Find(of)
		if d == nil {
			continue
		}
		if moved, ok := j.devices.moved(of, from, to); ok && moved > 0 {
			j.set(d, "others", max(0, 1-total/moved))
		}
	}
}

// changedBefore is how many bytes of file pages a second reach disks that were not changed meanwhile, but before: after a
// server has written much, the kernel goes on for half a minute. Nobody counts whose they are, and they may be a server's.
func (w *judged) changedBefore() (float64, bool) {
	page, ok := hostNumber(w.stack, "page_size")
	changed, ok2 := hostNumber(w.stack, "pages_dirtied_rate")
	written, ok3 := hostNumber(w.stack, "pages_written_rate")
	return max(0, written-changed) * page, ok && ok2 && ok3
}

// mixedDisks says of the disks below pools why nobody can tell whose bytes are whose.
func (w *judged) mixedDisks() {
	for _, p := range w.stack.OfKind("pool") {
		for _, of := range p.Links["disks"] {
			gap(w.stack, of, "ZFS turns one written byte into several, and nothing counts whose they are", "", "others")
		}
	}
}

// span gives the moments of the newest two readings of a series.
func (j *Judge) span(of stack.Ref, name string) (from, to time.Time, known bool) {
	for _, batches := range j.recent {
		var at []time.Time
		for _, b := range batches {
			if slices.ContainsFunc(b.Readings, func(r series.Reading) bool { return r.Of == of && r.Name == name }) {
				at = append(at, b.At)
			}
		}
		if n := len(at); n > 1 {
			return at[n-2], at[n-1], true
		}
	}
	return from, to, false
}

// plainDisks adds the devices on which what a server writes is written once: what
// its filesystems are made on, and the disks below.
func (w *judged) plainDisks(db *stack.Thing, disks map[stack.Ref]bool) {
	all, _ := w.stack.Follow(db, "storage")
	for _, fs := range all {
		if t := fs.Text("fstype"); t != "ext4" && t != "xfs" && t != "ext3" {
			continue
		}
		blocks, _ := w.stack.Follow(fs, "block")
		for _, b := range blocks {
			if b.Text("layer") == "disk" || b.Text("layer") == "partition" || b.Text("layer") == "loop" {
				disks[b.Ref] = true
				for _, of := range fs.Links["disks"] {
					disks[of] = true
				}
			}
		}
	}
}
