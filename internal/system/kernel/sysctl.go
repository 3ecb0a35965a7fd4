package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host/proc"
	"plumb/internal/stack"
)

// sysctls reads the settings in force and what would set them at the next
// boot.
func (l *look) sysctls() {
	boot := l.bootSettings()
	var changes []string
	knobs := l.catalog.Knobs("host")
	for _, fact := range slices.Sorted(maps.Keys(knobs)) {
		name := knobs[fact].Shown
		if strings.HasPrefix(name, "/") {
			continue
		}
		src := proc.Sysctl(name)
		data, err := l.h.ReadFile(l.ctx, src)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			l.t.SetAbsent(fact, src+": "+unsupported)
			continue
		case err != nil:
			l.gap(err, fact)
			continue
		}
		now := sysctlValue(string(data))
		set, ok := boot.find(name)
		if !ok || !boot.complete {
			l.t.Set(fact, now, src)
			continue
		}
		// Setting one of a pair zeroes its twin, and a later line that sets the
		// twin does so too; the file still wins at boot, so it is the next value.
		next := sysctlValue(set.value)
		l.t.SettingUntil(fact, now, src, stack.Next{Value: next, Origin: set.origin()})
		if !next.Equal(now) {
			changes = append(changes, fmt.Sprintf("%s = %s (now %s), %s", name, next, now, set.where()))
		}
	}
	l.overlooked(boot)
	if boot.complete {
		l.t.Set("sysctl_next_boot", stack.List(changes), "sysctl.d")
	}
}

// sysctlValue reads a value as the kernel shows it: a whole number, or words
// with one blank between them.
func sysctlValue(s string) stack.Value {
	words := strings.Join(strings.Fields(s), " ")
	if n, err := strconv.ParseInt(words, 10, 64); err == nil {
		return stack.Int(n)
	}
	return stack.Text(words)
}

// origin tells who sets the value at boot.
func (s setting) origin() stack.Origin {
	if s.file == "" {
		return stack.Origin{From: stack.FromCommand, Of: "kernel command line"}
	}
	return stack.Origin{From: stack.FromFile, File: s.file, Line: s.line}
}

// overlooked lists what /etc/sysctl.conf sets although nothing reads it at
// boot: systemd reads the .d directories only.
func (l *look) overlooked(boot bootSettings) {
	if !boot.complete {
		return
	}
	names := []string{}
	if boot.ignoresConf {
		for _, s := range boot.conf {
			names = append(names, s.name+" = "+s.value)
		}
	}
	l.t.Set("sysctl_conf_ignored", stack.List(names), "/etc/sysctl.conf")
}
