package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
)

// needs tells what the stages take of this machine, and refuses what is not
// there before anything is made.
func (x *Runner) needs(ctx context.Context) (says []string, err error) {
	for _, e := range x.planned() {
		if err := x.fits(ctx, e); err != nil {
			return nil, err
		}
		more, err := x.lab.Need(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("rehearse: %w", err)
		}
		for _, m := range more {
			if !slices.Contains(says, m) {
				says = append(says, m)
			}
		}
	}
	says = append(says, "a quiet hour: processors and disk are shared with everything else that runs here")
	return says, nil
}

// fits says what would fit where the disk or the memory is too small.
func (x *Runner) fits(ctx context.Context, e experiment.Experiment) error {
	const least = 64 << 20
	dir := filepath.Dir(x.lab.Box.Dir)
	free, err := x.Live.Statfs(ctx, dir)
	if takes := diskOf(e); err == nil && int64(free.AvailBytes) < takes {
		help := "--dir names a directory on another disk"
		if data := dataFor(int64(free.AvailBytes)); data >= least && x.Volume == "" {
			help = fmt.Sprintf("--data %s would fit; or ", data) + help
		}
		return hint.With(fmt.Errorf("rehearse: %s has %s free, but the sandbox takes about %s: the data, a copy for each trial, and as much again to grow",
			dir, inMB(int64(free.AvailBytes)), inMB(takes)), help)
	}
	if x.stack == nil || x.stack.Host() == nil {
		return nil
	}
	have, known := x.stack.Host().Int("memory_available")
	if takes := experiment.MostMemory(e); known && int64(takes) > have {
		help := "stop other programs that take memory here"
		if half := experiment.Bytes(have / 2 >> 20 << 20); half >= least {
			help = fmt.Sprintf("--memory %s would fit", half)
		}
		return hint.With(fmt.Errorf("rehearse: %s of memory are available here, but the sandbox's server takes %s", inMB(have), takes), help)
	}
	return nil
}

// diskOf is what an experiment takes of the disk.
func diskOf(e experiment.Experiment) (sum int64) {
	for _, l := range experiment.Layouts(e) {
		if l.Setup.Volume.Kind == experiment.Dataset {
			continue // in a pool, where package volume looks for room
		}
		each := max(int64(l.Setup.Volume.Size), experiment.Copies*experiment.DataBytes(l.Setup))
		if e.Design == experiment.Interleaved { // servers that are up at once have a volume each
			each *= int64(len(l.Arms))
		}
		sum += each
	}
	return sum
}

// dataFor is the load's data that a sandbox on so much free disk has room for.
func dataFor(free int64) experiment.Bytes {
	return experiment.Bytes(max(0, free/experiment.Copies-experiment.EmptyServer) >> 20 << 20)
}

// inMB writes a size no finer than a megabyte.
func inMB(n int64) experiment.Bytes { return experiment.Bytes(n >> 20 << 20) }

// roomIn tells how many bytes are free in a directory; 0 when that is not known.
func (x *Runner) roomIn(ctx context.Context, dir string) int64 {
	if dir == "" {
		return 0
	}
	st, err := x.Live.Statfs(ctx, dir)
	if err != nil {
		return 0
	}
	return int64(st.AvailBytes)
}

// farFromData says when --dir is on another filesystem than the server's
// data.
func (x *Runner) farFromData(ctx context.Context) {
	if x.wanted.Dir == "" || x.Volume != "" {
		return
	}
	here, err := x.Live.Stat(ctx, x.wanted.Dir)
	if err != nil {
		return // said when the lab is made
	}
	for _, r := range x.stack.Roles {
		if r.DB != x.proposal.Server || r.Name != "data" {
			continue
		}
		there, err := x.Live.Stat(ctx, r.Path)
		if err == nil && (there.DevMajor != here.DevMajor || there.DevMinor != here.DevMinor) {
			x.proposal.Says = append(x.proposal.Says, fmt.Sprintf("The sandbox is below %s, which is on another filesystem than the server's data: its results about the disk may not apply there.", x.wanted.Dir))
		}
		return
	}
}
