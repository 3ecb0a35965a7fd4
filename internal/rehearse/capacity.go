package rehearse

import (
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
)

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
