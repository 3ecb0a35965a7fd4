package rehearse

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
)

const gigabyte = 1 << 30

// What a sandbox takes, in bytes.
const (
	usualMemory = 4 << 30   // at most, when nothing else is asked
	usualData   = 2 << 30   // likewise
	smallMemory = 512 << 20 // is not gone below for the sake of proportion: a server needs some for itself
	leastMemory = 128 << 20 // with less no server runs well enough to be measured
	leastData   = 64 << 20  // less is no data: all caches hold it
	overhead    = 512 << 20 // of a server and the system beside its caches
	chunk       = 128 << 20 // InnoDB makes up its buffer pool of such
)

// sizes are those of the sandbox and of the real server, in bytes; 0 is not
// known.
type sizes struct {
	realMemory, realData int64
	memory, data         int64
	scale                float64 // of caches and data against the real ones
}

// fit sizes the sandbox with at most so much data, and gives it the settings
// of the server as it is.
func (d *draft) fit(plan advise.Plan, mostData int64) error {
	if like := d.want.Like; like != nil {
		memory, data := int64(like.Server.Memory), experiment.DataBytes(experiment.Setup{Load: like.Load})
		d.size = sizes{realMemory: memory, realData: data, memory: memory, data: data, scale: 1}
		d.take()
		d.create = like.Server.Create
		return nil
	}
	caches := d.largestCaches(plan)
	z, err := d.sized(mostData, caches)
	if err != nil {
		return err
	}
	d.size = z
	d.take()
	if d.volume.Size = 0; d.volume.Kind == experiment.Loop || d.volume.Kind == experiment.Zpool {
		need := 5*experiment.DataBytes(experiment.Setup{Load: d.load(), Server: &experiment.Server{}})/2 + 2*min(kindOf(d.server.Ref.Kind).log(d, plan), 1<<40) + gigabyte // and a binary log
		d.volume.Size = experiment.Bytes(roundUp(need, gigabyte))
	}
	return nil
}

// sized keeps the proportions of the server: of its data to its memory and its
// caches. All is of real size where the data are no more than may be loaded
// and caches and data fit into the memory that a sandbox may have.
func (d *draft) sized(mostData, caches int64) (sizes, error) {
	most, err := d.mostMemory()
	if err != nil {
		return sizes{}, err
	}
	z := sizes{realMemory: d.realMemory(), realData: d.realData(), memory: most, scale: 1}
	real := cmp.Or(z.realMemory, math.MaxInt64)
	if z.realData < leastData {
		if z.realMemory > 0 {
			z.scale = min(1, float64(most)/float64(real))
		}
		z.data = min(most/2, mostData)
		return z, nil
	}
	need := min(real, caches+caches/10+z.realData+z.realData/5+overhead)
	z.scale = min(1, float64(most)/float64(need), float64(mostData)/float64(z.realData))
	if z.scale < 1 && z.realMemory > 0 {
		z.memory = roundDown(max(int64(z.scale*float64(real)), min(smallMemory, most)), 64<<20)
		z.memory = min(z.memory, most)
	}
	z.data = max(int64(z.scale*float64(z.realData)), min(leastData, mostData))
	return z, nil
}

// mostMemory is what a sandbox may take: what was asked, what the server
// itself may have, and half of what is free.
func (d *draft) mostMemory() (int64, error) {
	most := int64(usualMemory)
	why := "asked for"
	if d.want.Memory > 0 {
		most = int64(d.want.Memory)
	}
	if real := d.realMemory(); real > 0 && real < most {
		most, why = real, "what the server itself may have"
	}
	if host := d.stack.Host(); host != nil {
		if free, known := host.Int("memory_available"); known && free/2 < most {
			most, why = free/2, "half of what is free here"
		}
	}
	if most > leastMemory {
		most = max(roundDown(most, 64<<20), leastMemory)
	}
	if most < leastMemory {
		return 0, hint.With(fmt.Errorf("a sandbox could have %s of memory, %s, but needs at least %s", experiment.Bytes(most>>20<<20), why, experiment.Bytes(leastMemory)),
			"free memory, or rehearse with --sandbox on another machine")
	}
	return most, nil
}

// realMemory is what the server may take: the limit of its control group, or
// what other servers leave it of the machine. 0: not known.
func (d *draft) realMemory() int64 {
	host := d.stack.Host()
	if host == nil {
		return 0
	}
	total, _ := host.Int("memory_total")
	if group := d.group(); group != nil {
		if limit, ok := group.Int("memory_limit"); ok && limit > 0 && (total == 0 || limit < total) {
			return limit
		}
	}
	left, own := total, linked(d.stack, d.server, "process")
	for _, p := range d.stack.OfKind("process") {
		if p == own {
			continue
		}
		rss, _ := p.Int("rss")
		left -= rss
	}
	return max(left, total/4)
}

// group is the control group of the server; nil when there is none.
func (d *draft) group() *stack.Thing {
	processes, _ := d.stack.Follow(d.server, "process")
	for _, p := range processes {
		if g := linked(d.stack, p, "cgroup"); g != nil {
			return g
		}
	}
	return nil
}

// realData is how much data the server holds. 0: not known.
func (d *draft) realData() int64 {
	n, _ := d.server.Int(kindOf(d.server.Ref.Kind).data)
	return min(max(n, 0), 1<<55)
}

// largestCaches is what the caches take that data are kept in, as it is or
// with the plan, in the real server.
func (d *draft) largestCaches(plan advise.Plan) int64 {
	return d.largest(plan, kindOf(d.server.Ref.Kind).cache)
}

func (d *draft) largest(plan advise.Plan, name string) int64 {
	most := int64(0)
	if v, ok := d.inForce(name); ok {
		most, _ = v.Int()
	}
	for _, s := range plan.Steps {
		if n, ok := s.To.Int(); ok && s.Knob == (stack.Knob{Of: d.server.Ref, Name: name}) {
			most = max(most, n)
		}
	}
	return min(max(most, 0), 1<<50)
}

// scaled makes a cache as much smaller as the sandbox is, as it is and in all
// arms. The other settings concern connections, rates or logs, which a sandbox
// has as the server has them.
func (d *draft) scaled(name string, n int64) int64 {
	least, isCache := kindOf(d.server.Ref.Kind).caches[name]
	if !isCache || d.size.scale >= 1 || n <= least {
		return n
	}
	n = int64(d.size.scale * float64(n))
	switch {
	case name == "innodb_buffer_pool_size" && n >= 2*chunk: // the server rounds up
		n = roundDown(n, chunk)
	case n >= 16<<20:
		n = roundDown(n, 8<<20)
	default:
		n = roundDown(n, 1<<20)
	}
	return max(n, least)
}

func roundDown(n, unit int64) int64 { return n / unit * unit }

func roundUp(n, unit int64) int64 { return roundDown(n+unit-1, unit) }

// spared is the part of the memory that is available now which the servers of a
// sandbox leave alone, all together: much of it is the page cache of the live one.
const spared = 0.5

// atOnce is how many servers of the sandbox can be up at once and take turns: 1
// where each trial has to be by itself. A machine's speed varies with what else
// is done on it; turns of seconds take that out. On a volume with a limit it is
// the limit that decides.
func (d *draft) atOnce() int {
	host := d.stack.Host()
	each := experiment.Setup{Volume: d.volume, Server: &experiment.Server{}, Load: d.load()}
	if host == nil || !d.stack.Root || d.size.memory <= 0 || experiment.NoTurns(each) != "" {
		return 1
	}
	free, _ := host.Int("memory_available")
	n := int(float64(free) * (1 - spared) / float64(d.size.memory))
	if room := d.room(); room > 0 {
		n = min(n, int(room/(experiment.Copies*experiment.DataBytes(each))))
	}
	return max(1, n)
}

// room is how many bytes are free where the sandbox lies; 0 when that is not known.
func (d *draft) room() int64 {
	if d.want.Dir != "" || d.want.Room > 0 {
		return d.want.Room
	}
	if fs := d.stack.Find(d.site.Filesystem); fs != nil {
		free, _ := fs.Int("free")
		return free
	}
	return 0
}

// design tells how the trials of some arms are spread over time. What one arm
// sets on the host would be in force for all that are up at once.
func (d *draft) design(arms []arm) string {
	if len(arms) > d.atOnce() || slices.ContainsFunc(arms, func(a arm) bool {
		return slices.ContainsFunc(a.set, func(c change) bool { return strings.HasPrefix(c.path, "host.") })
	}) {
		return experiment.Blocks
	}
	return experiment.Interleaved
}
