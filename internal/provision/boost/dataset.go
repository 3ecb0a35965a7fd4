package boost

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Of the property that is set.
const (
	syncKnob = "sync"
	off      = "disabled"
)

// planDataset plans a load into a dataset, and says why it may not be.
func planDataset(s *stack.Stack, name string, o Options) (Plan, error) {
	t := s.Find(stack.Ref{Kind: "dataset", Name: name})
	if t == nil {
		return Plan{}, hint.With(fmt.Errorf("there is no dataset %s on this host", name), "zfs list shows them; plumb stack shows which servers lie where")
	}
	now, known := t.Get(syncKnob)
	_, unseen := s.GapFor(t.Ref, syncKnob)
	switch {
	case !known && !unseen:
		return Plan{}, hint.With(errors.New("the ZFS of this host has no property sync: every synchronous write waits for the disk"), "plumb boost SERVER speeds up a server")
	case !known:
		return Plan{}, hint.With(fmt.Errorf("the property sync of %s could not be read", name), "run as root: zfs get sync "+name)
	case now.String() == off:
		return Plan{}, hint.With(fmt.Errorf("sync of %s is already disabled, so there is nothing to speed up or restore", name),
			"plumb history shows whether Plumb did it; zfs inherit sync "+name+" ends it")
	}
	p := Plan{Of: t.Ref, For: o.For, Below: reached(s, name)}
	p.Steps = []change.Step{{Knob: stack.Knob{Of: t.Ref, Name: syncKnob}, From: now, To: stack.Text(off)}}
	p.Unsafe = []string{p.Steps[0].Knob.String()}
	p.Servers = on(s, append([]string{name}, p.Below...))
	p.Loss = window(s)
	return p, asked(s, p.Servers, o.Also)
}

// reached lists the datasets below one that have its value of sync, as they have none of their own.
func reached(s *stack.Stack, name string) (all []string) {
	own := map[string]bool{}
	for _, t := range s.OfKind("dataset") {
		o := t.Facts[syncKnob].Origin
		own[t.Ref.Name] = o != nil && (o.From == stack.FromLocal || o.From == stack.FromReceived)
	}
	for _, t := range s.OfKind("dataset") {
		below := t.Ref.Name
		if !strings.HasPrefix(below, name+"/") {
			continue
		}
		free := true
		for at := below; at != name && free; at = at[:strings.LastIndexByte(at, '/')] {
			free = !own[at]
		}
		if free {
			all = append(all, below)
		}
	}
	return all
}

// on lists the servers that keep anything on datasets, in files or on volumes.
func on(s *stack.Stack, datasets []string) (all []stack.Ref) {
	for _, r := range s.Roles {
		for _, name := range under(s, r.Filesystem) {
			if slices.Contains(datasets, name) && !slices.Contains(all, r.DB) {
				all = append(all, r.DB)
			}
		}
	}
	return all
}

// under names the datasets that hold a filesystem: that which it shows, and the volumes it lies on.
func under(s *stack.Stack, filesystem stack.Ref) (names []string) {
	fs := s.Find(filesystem)
	if fs == nil {
		return nil
	}
	shown, _ := s.Follow(fs, "dataset")
	blocks, _ := s.Follow(fs, "block")
	for i := 0; i < len(blocks) && i < most; i++ {
		volumes, _ := s.Follow(blocks[i], "dataset")
		shown = append(shown, volumes...)
		lower, _ := s.Follow(blocks[i], "on")
		blocks = append(blocks, lower...)
	}
	for _, t := range shown {
		names = append(names, t.Ref.Name)
	}
	return names
}

// most is how many devices are looked at below one filesystem.
const most = 1000

// window says what a crash loses while nothing waits for the disk, as this host is set.
func window(s *stack.Stack) []string {
	const after = "after a crash the whole pool, with all its datasets, is as it was at an earlier moment: what was committed after that is lost"
	m := s.Find(stack.Ref{Kind: "zfs", Name: "module"})
	if m == nil {
		return []string{"how much is not known: the parameters of ZFS could not be read", after}
	}
	seconds, timed := m.Int("zfs_txg_timeout")
	if !timed {
		return []string{"how much is not known: this ZFS does not show zfs_txg_timeout (OpenZFS begins a transaction group every 5 s by default)", after}
	}
	text := fmt.Sprintf("a transaction group begins every %s at the latest (zfs_txg_timeout), and is written while the next one fills", units.Span(time.Duration(seconds)*time.Second))
	if dirty, known := m.Int("zfs_dirty_data_max"); known {
		text += fmt.Sprintf("; at most %s is unwritten at a time (zfs_dirty_data_max)", units.Bytes(dirty))
	}
	return []string{text, after}
}
