package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab/experiment"
)

// Need tells what an experiment takes of this machine and whether it is there,
// without making anything. One sentence for each thing.
func (l *Lab) Need(ctx context.Context, x experiment.Experiment) (says []string, err error) {
	if asksHost(x) && !l.Host {
		return nil, errHost()
	}
	if x.Design == experiment.Interleaved && !l.Box.Do.About().Root {
		return nil, errTurns()
	}
	disk := demand{}
	var all []error
	seen := map[string]bool{}
	for _, a := range x.Arms {
		if err := l.refuses(a.Setup.Server); err != nil {
			all = append(all, fmt.Errorf("arm %s: %w", a.Name, err))
			continue
		}
		key := experiment.LayoutKey(a.Setup)
		if seen[key] && x.Design != experiment.Interleaved { // arms that take turns have volumes of their own
			continue
		}
		seen[key] = true
		for _, err := range l.takes(ctx, a.Setup, disk) {
			all = append(all, fmt.Errorf("arm %s: %w", a.Name, err))
		}
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	if says, err = disk.met(ctx, l.Box.Do, filepath.Dir(l.Box.Dir)); err != nil {
		return says, err
	}
	if memory := experiment.MostMemory(x); memory > 0 {
		text := fmt.Sprintf("memory: %s for the server of a trial", memory)
		if x.Design == experiment.Interleaved {
			text = fmt.Sprintf("memory: %s for each of %d servers, up at once", memory, len(x.Arms))
		}
		says = append(says, text)
	}
	return says, nil
}

// takes adds what an arm takes of disks, and says what it lacks.
func (l *Lab) takes(ctx context.Context, s experiment.Setup, disk demand) (lacks []error) {
	n, err := l.Medium.Check(ctx, l.Box.Do, s.Volume)
	if err != nil {
		return []error{err}
	}
	data := experiment.DataBytes(s)
	if err := holds(s.Volume, data); err != nil {
		lacks = append(lacks, err)
	}
	disk.add(s.Volume, n, data)
	if s.Server != nil {
		if _, _, err := l.find(ctx, *s.Server); err != nil {
			lacks = append(lacks, err)
		}
	}
	return lacks
}

// refuses says why an engine would not configure a server so.
func (l *Lab) refuses(s *experiment.Server) error {
	if s == nil {
		return nil
	}
	e, err := l.engineOf(s.Engine)
	if err != nil {
		return err
	}
	_, err = e.Files(Program{}, *s, filepath.Join(l.Box.Dir, "data"), l.runDir(1))
	return err
}

// holds tells whether a volume has room for the data, a copy of it, and what a
// trial adds.
func holds(v experiment.Volume, data int64) error {
	if v.Size == 0 || int64(v.Size) >= 5*data/2 {
		return nil
	}
	return hint.With(fmt.Errorf("a volume of %s is too small: the data take about %s, their copy as much, and a trial adds to it", v.Size, experiment.Bytes(data>>20<<20)),
		fmt.Sprintf("volume.size: %s, or less data", experiment.Bytes((5*data/2+1<<20)>>20<<20)))
}

// tally writes "2 × a volume of 4G" for what is repeated.
func tally(words []string) (out []string) {
	n := map[string]int{}
	for _, w := range words {
		n[w]++
	}
	for _, w := range words {
		switch {
		case n[w] == 1:
			out = append(out, w)
		case n[w] > 1:
			out = append(out, fmt.Sprintf("%d × %s", n[w], w))
		}
		n[w] = 0
	}
	return out
}

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
			return says, hint.With(fmt.Errorf("%s has %s free, but the experiment takes %s: %s", on, experiment.Bytes(r.free>>20<<20), takes, why), help)
		}
	}
	return says, nil
}
