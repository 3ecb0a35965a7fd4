package sampler

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/system/process"
)

// otherProcesses reads what processes read and write that are no server's, so
// that it can be told who else is at the disks. It keeps what each had counted,
// to know the ones that do most.
type otherProcesses struct {
	servers map[int]bool
	last    map[int]uint64 // bytes, by process
}

const (
	mostOthers  = 64   // that are told of
	mostLooked  = 8192 // that are looked at
	commLargest = 32   // of a name; the kernel keeps 15 bytes of programs, and more of its own threads
)

// Name implements [sample.Source].
func (o *otherProcesses) Name() string {
	var pids []string
	for pid := range o.servers {
		pids = append(pids, strconv.Itoa(pid))
	}
	slices.Sort(pids)
	return sample.Named("other processes", pids...)
}

// Every implements [sample.Source].
func (o *otherProcesses) Every() time.Duration { return sample.Ten }

// busy is a process that read or wrote since it was looked at before.
type busy struct {
	pid   int
	grown uint64
	io    process.IO
}

// Take implements [sample.Source].
func (o *otherProcesses) Take(ctx context.Context, h host.Reader) (b series.Batch, err error) {
	dirs, err := h.Glob(ctx, "/proc/[0-9]*")
	if err != nil {
		return b, err
	}
	if len(dirs) > mostLooked {
		return b, fmt.Errorf("%d processes run; they are looked at up to %d", len(dirs), mostLooked)
	}
	now, all, denied := map[int]uint64{}, []busy{}, 0
	for _, dir := range dirs {
		pid, err := strconv.Atoi(path.Base(dir))
		if err != nil || o.servers[pid] {
			continue
		}
		io, err := inOut(ctx, h, pid)
		if ctx.Err() != nil {
			return b, ctx.Err()
		}
		if errors.Is(err, fs.ErrPermission) {
			denied++
		}
		if err != nil {
			continue // it ended
		}
		now[pid] = io.Read + io.Written
		if before, ok := o.last[pid]; ok && now[pid] > before {
			all = append(all, busy{pid, now[pid] - before, io})
		}
	}
	o.last = now
	if denied > 0 && !h.About().Root { // some processes hide from root too, in namespaces of their own
		b.Gap(stack.Ref{}, fmt.Sprintf("what %d processes of others read and write is not shown", denied), "run as root")
	}
	return b, o.tell(ctx, h, &b, all)
}

// tell gives those that did most, but for processes that a server started.
func (o *otherProcesses) tell(ctx context.Context, h host.Reader, b *series.Batch, all []busy) error {
	slices.SortFunc(all, func(x, y busy) int { return cmp.Or(cmp.Compare(y.grown, x.grown), cmp.Compare(x.pid, y.pid)) })
	told := 0
	for _, p := range all {
		if told == mostOthers {
			break
		}
		data, err := h.ReadFile(ctx, file(p.pid, "stat"))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		u, ok := process.ParseUsage(data)
		if err != nil || !ok || o.servers[u.Parent] {
			continue
		}
		told++
		of := stack.Ref{Kind: "process", Name: fmt.Sprintf("%d (%s)", p.pid, comm(data))}
		b.Set(of, "read_bytes", float64(p.io.Read))
		b.Set(of, "written_bytes", float64(p.io.Written))
	}
	return nil
}

// comm gives the name in /proc/PID/stat, which a process can set to anything, so
// that it can be shown.
func comm(stat []byte) string {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return ""
	}
	name := stat[open+1 : end]
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune("()@#", r) {
			return '?'
		}
		return r
	}, string(name[:min(len(name), commLargest)]))
}
