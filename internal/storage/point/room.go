package point

import (
	"fmt"

	"plumb/internal/hint"
	"plumb/internal/host/paths"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// leastFree is the part of a pool or filesystem that must be free. ZFS gets slow below it, and a
// snapshot keeps what is overwritten from then on.
const leastFree = 0.1

// room tells which filesystem is too full.
func room(s *stack.Stack, vols []protect.Volume) error {
	for _, v := range vols {
		var at *stack.Thing
		for _, t := range s.OfKind("filesystem") {
			point := t.Text("mountpoint")
			if paths.Within(v.Mountpoint, point) && (at == nil || len(point) > len(at.Text("mountpoint"))) {
				at = t
			}
		}
		if at == nil {
			return fmt.Errorf("it is not known how full the filesystem at %s is", v.Mountpoint)
		}
		size, known := at.Int("size")
		free, known2 := at.Int("free")
		if !known || !known2 || size <= 0 {
			return fmt.Errorf("it is not known how full the filesystem at %s is", at.Text("mountpoint"))
		}
		if float64(free) < leastFree*float64(size) {
			return tight("of the filesystem at %s %s of %s are free: less than a tenth", at.Text("mountpoint"), units.Bytes(free), units.Bytes(size))
		}
	}
	return nil
}

// tight says that there is too little space.
func tight(format string, args ...any) error {
	return hint.With(fmt.Errorf(format, args...), "plumb prune makes room")
}
