package kernel

import (
	"errors"
	"io/fs"
	"strings"

	"plumb/internal/stack"
)

// pressure reads how much of the time tasks waited for CPU, memory and disk.
// "some": at least one task waited; "full": all that could run did. CPU has
// no full for a whole machine.
func (l *look) pressure() {
	for _, resource := range []string{"cpu", "memory", "io"} {
		lines := []string{"some", "full"}
		if resource == "cpu" {
			lines = lines[:1]
		}
		src := "/proc/pressure/" + resource
		facts := "psi_" + resource + "_*"
		data, err := l.h.ReadFile(l.ctx, src)
		if err != nil {
			l.noPressure(err, src, facts, resource, lines)
			continue
		}
		for _, line := range lines {
			for window, share := range parsePressure(data, line) {
				l.t.Set("psi_"+resource+"_"+line+"_"+window, stack.Float(share), src)
			}
		}
	}
}

// noPressure tells a kernel that does not account pressure, or was told not
// to, from one whose numbers may not be read.
func (l *look) noPressure(err error, src, facts, resource string, lines []string) {
	off := errors.Is(err, errors.ErrUnsupported) || strings.Contains(err.Error(), "not supported")
	if !off && !errors.Is(err, fs.ErrNotExist) {
		l.gap(err, facts)
		return
	}
	for _, line := range lines {
		for _, window := range []string{"avg10", "avg60", "avg300"} {
			l.t.SetAbsent("psi_"+resource+"_"+line+"_"+window, src+": "+unsupported+", or it needs psi=1 at boot")
		}
	}
}
