package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"plumb/internal/hint"
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
		n, err := l.Medium.Check(ctx, l.Box.Do, a.Setup.Volume)
		if err != nil {
			all = append(all, fmt.Errorf("arm %s: %w", a.Name, err))
			continue
		}
		data := experiment.DataBytes(a.Setup)
		if err := holds(a.Setup.Volume, data); err != nil {
			all = append(all, fmt.Errorf("arm %s: %w", a.Name, err))
		}
		disk.add(a.Setup.Volume, n, data)
		if a.Setup.Server != nil {
			if _, _, err := l.find(ctx, *a.Setup.Server); err != nil {
				all = append(all, fmt.Errorf("arm %s: %w", a.Name, err))
			}
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
			text = fmt.Sprintf("memory: %s for each of %d servers that are up at once", memory, len(x.Arms))
		}
		says = append(says, text)
	}
	return says, nil
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
