package kernel

import (
	"errors"
	"fmt"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// clock tells whether something keeps the clock right. It asks the time services in turn. Each can only speak for what
// it knows: a clock that the hypervisor keeps right looks free-running to all
// of them, so "no" is believed only from a service that is in charge.
func (l *look) clock() {
	const fact = "clock_synchronized"
	out, errChrony := l.h.Output(l.ctx, "chronyc", "-n", "tracking")
	if errChrony == nil {
		if yes, ok := parseChrony(out); ok {
			l.t.Set(fact, stack.Bool(yes), "chronyc tracking")
			l.t.Set("time_service", stack.Text("chrony"), "chronyc tracking")
			return
		}
	}
	out, errDate := l.h.Output(l.ctx, "timedatectl", "show")
	if errDate == nil {
		if on, yes, ok := parseTimedatectl(out); ok && (yes || on) {
			l.t.Set(fact, stack.Bool(yes), "timedatectl show")
			return
		}
	}
	why := "no time service answered"
	for _, err := range []error{errChrony, errDate} {
		if err != nil && !errors.Is(err, host.ErrNoCommand) {
			why += fmt.Sprintf("; %v", err)
		}
	}
	l.obs.Gap(l.t.Ref, why, "run chrony, or look at `timedatectl` yourself", fact)
}

// parseChrony reads `chronyc tracking`: the leap status says whether it
// follows a source.
func parseChrony(data []byte) (yes, ok bool) {
	for line := range strings.Lines(string(data)) {
		name, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(name) == "Leap status" {
			status := strings.TrimSpace(value)
			return status != "Not synchronised" && status != "Not synchronized", status != ""
		}
	}
	return false, false
}

// parseTimedatectl reads whether systemd runs a time service, and whether the
// kernel holds the clock to be synchronised.
func parseTimedatectl(data []byte) (on, yes, ok bool) {
	for line := range strings.Lines(string(data)) {
		name, value, found := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case !found:
		case name == "NTP":
			on = value == "yes"
		case name == "NTPSynchronized":
			yes, ok = value == "yes", true
		}
	}
	return on, yes, ok
}
