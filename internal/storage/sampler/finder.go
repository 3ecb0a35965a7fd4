package sampler

import (
	"plumb/internal/sample"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// Finder makes the sources of storage.
type Finder struct{}

// Sources implements [sample.Finder].
func (Finder) Sources(s *stack.Stack) []sample.Source {
	var out []sample.Source
	if devices := devices(s); len(devices) > 0 {
		out = append(out, blockSource{sample.Named("block", devices...), devices})
	}
	out = append(out, ofZFS(s)...)
	out = append(out, filesystems(s)...)
	return append(out, drives(s)...)
}

// mostPools bounds how many pools are read.
const mostPools = 32

// ofZFS makes the sources of ZFS and of its pools.
func ofZFS(s *stack.Stack) (out []sample.Source) {
	modules, all := s.OfKind("zfs"), s.OfKind("pool")
	if len(modules) == 0 {
		return nil
	}
	var pools []stack.Ref
	for _, p := range all[:min(len(all), mostPools)] {
		pools = append(pools, p.Ref)
	}
	tools := zfs.Tools{Fuse: modules[0].Text("implementation") == "zfs-fuse"}
	if tools.Fuse {
		out = append(out, fuseSource{modules[0].Ref, pools})
	} else {
		out = append(out, arcSource{modules[0].Ref})
	}
	for _, p := range pools {
		out = append(out, scanSource{p, tools})
		if !tools.Fuse {
			out = append(out, txgSource{p})
		}
	}
	if len(pools) > 0 {
		out = append(out, spaceSource{tools})
	}
	return out
}
