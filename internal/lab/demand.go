package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab/experiment"
)

// demand adds up the room that volumes take, by where they lie: "" is below the
// lab's directory.
type demand map[string]*room

type room struct {
	takes, free int64 // bytes; free is not known of what lies below the lab's directory
	why         []string
}

// add adds a volume. What has no size of its own takes room for the data, for
// the copy or clone that a trial writes to, and for what is added.
func (d demand) add(v experiment.Volume, n Need, data int64) {
	if v.Kind == experiment.Directory || v.Kind == experiment.Dataset {
		n.Disk, n.Why = experiment.Copies*data, fmt.Sprintf("data of %s, its copy and as much to grow", experiment.Bytes(data>>20<<20))
	}
	r := d[n.Place]
	if r == nil {
		r = &room{free: n.Room}
		d[n.Place] = r
	}
	r.takes, r.why = r.takes+n.Disk, append(r.why, n.Why)
}

// met tells what is taken where, and whether it is there. dir is the directory
// that the lab's own is made in.
func (d demand) met(ctx context.Context, h host.Reader, dir string) (says []string, err error) {
	for _, place := range slices.Sorted(maps.Keys(d)) {
		r, known := d[place], place != ""
		where, on, help := "in "+place, place, "less data helps"
		if r.takes > 0 && r.free < r.takes {
			help = fmt.Sprintf("less data helps: %d %% of it would fit", 100*r.free/r.takes)
		}
		if !known {
			where, on, help = "below "+dir, dir, "--dir names another directory; smaller volumes and less data also help"
			st, err := h.Statfs(ctx, dir)
			known, r.free = err == nil, int64(st.AvailBytes)
		}
		takes, why := experiment.Bytes(r.takes>>20<<20), strings.Join(tally(r.why), ", ")
		says = append(says, fmt.Sprintf("disk: %s %s: %s", takes, where, why))
		if known && r.free < int64(takes) {
			return says, hint.With(fmt.Errorf("%s has %s free, and the experiment takes %s: %s", on, experiment.Bytes(r.free>>20<<20), takes, why), help)
		}
	}
	return says, nil
}
