package sampler

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// maxServers bounds the processes and the control groups that are read.
const maxServers = 64

// Finder makes the sources of the machine's kernel and processes.
type Finder struct{}

// Sources implements sample.Finder. Each process and each control group is a
// source of its own, so that one that hangs stops no other.
func (Finder) Sources(s *stack.Stack) []sample.Source {
	machine := s.Host()
	if machine == nil {
		return nil // a server elsewhere: nothing of its machine can be seen
	}
	k := kernelSource{host: machine.Ref}
	k.page, _ = machine.Int("page_size")
	out := []sample.Source{
		sample.Made("kernel", sample.Second, k.take),
		sample.Made("other processes", sample.Ten, (&others{servers: servers(s)}).take),
	}
	for _, p := range first(s.OfKind("process")) {
		if pid, err := strconv.Atoi(p.Ref.Name); err == nil {
			out = append(out, processSources(p, pid, k.page)...)
		}
	}
	names := deviceNames(s)
	for _, g := range first(s.OfKind("cgroup")) {
		if pid, ok := memberOf(s, g); ok {
			out = append(out, groupSources(g.Ref, pid, names)...)
		}
	}
	return out
}

func first(things []*stack.Thing) []*stack.Thing { return things[:min(len(things), maxServers)] }

// servers are the numbers of the servers' processes.
func servers(s *stack.Stack) map[int]bool {
	out := map[int]bool{}
	for _, p := range s.OfKind("process") {
		if pid, err := strconv.Atoi(p.Ref.Name); err == nil {
			out[pid] = true
		}
	}
	return out
}

// memberOf gives a process that is in a control group: where a group lies in
// each tree, only a process in it tells.
func memberOf(s *stack.Stack, g *stack.Thing) (pid int, ok bool) {
	for _, p := range s.OfKind("process") {
		if !slices.Contains(p.Links["cgroup"], g.Ref) {
			continue
		}
		if pid, err := strconv.Atoi(p.Ref.Name); err == nil {
			return pid, true
		}
	}
	return 0, false
}

// deviceNames gives the block devices below servers by their number, "7:0".
func deviceNames(s *stack.Stack) map[string]string {
	out, under := map[string]string{}, sample.Below(s)
	for _, b := range s.OfKind("block") {
		if dev := b.Text("dev"); dev != "" && under[b.Ref] {
			out[dev] = b.Ref.Name
		}
	}
	return out
}

// reading is what all sources do: read a file, and leave a gap where that
// cannot be.
type reading struct {
	ctx context.Context
	h   host.Reader
	b   *series.Batch
}

// file reads a file that is about some readings of a thing.
func (r reading) file(of stack.Ref, name string, about ...string) ([]byte, bool) {
	data, err := r.h.ReadFile(r.ctx, name)
	if err != nil {
		r.b.Gap(of, err.Error(), hintFor(err), about...)
		return nil, false
	}
	return data, true
}

// odd says that a file holds something else than it should.
func (r reading) odd(of stack.Ref, name string, about ...string) {
	r.b.Gap(of, name+" is not understood", "", about...)
}

func hintFor(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "run as root, or with the capability to read other users' processes"
	}
	return ""
}
