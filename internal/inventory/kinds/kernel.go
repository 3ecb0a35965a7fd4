package kinds

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/host/proc"
	"plumb/internal/inventory"
)

// limit takes a limit on a device back. Its lab may have changed it since
// without the book, as burst credits run out, so a limit on a loop device of
// ours is ours whatever it says.
func (h holder) limit(ctx context.Context, e inventory.Entry) error {
	line, undo := e.Thing.Proof["line"], e.Thing.Proof["undo"]
	if undo == "" || h.rebooted(ctx) {
		return nil
	}
	if !isLimit(e.Thing) {
		return foreign("it is not a limit of a device")
	}
	text, err := h.Do.ReadFile(ctx, e.Thing.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // with its group
	}
	if err != nil {
		return err
	}
	device, _, _ := strings.Cut(line, " ")
	now, inForce := LimitOf(string(text), device)
	switch {
	case !inForce || holds(now, undo):
		return nil
	case holds(now, line), h.Live, h.ownDevice(ctx, device):
		return h.Do.Write(ctx, e.Thing.Name, []byte(undo))
	}
	return foreign("it is %q now", now)
}

// limitLine is a line that limits a device: what is written, and what takes it
// back.
var limitLine = regexp.MustCompile(`^\d+:\d+( [0-9]+| [rw](bps|iops)=([0-9]+|max))+$`)

// isLimit tells whether a limit is one that a lab can have put in force: in a
// control group's file for that, and nowhere else.
func isLimit(t inventory.Thing) bool {
	dir, file := path.Split(t.Name)
	throttles := file == "io.max" || strings.HasPrefix(file, "blkio.throttle.") && strings.HasSuffix(file, "_device")
	return throttles && strings.HasPrefix(dir, "/sys/fs/cgroup/") && path.Clean(t.Name) == t.Name &&
		limitLine.MatchString(t.Proof["line"]) && limitLine.MatchString(t.Proof["undo"])
}

// LimitOf finds the line of a device in a file of limits: "7:0 3000", or in version 2
// "7:0 rbps=max wbps=max riops=3000 wiops=max".
func LimitOf(text, device string) (line string, ok bool) {
	for l := range strings.Lines(text) {
		if f := strings.Fields(l); len(f) > 0 && f[0] == device {
			return strings.Join(f, " "), true
		}
	}
	return "", false
}

// holds tells whether a line says all that was written: version 2 lists
// limits that were not named as well.
func holds(now, written string) bool {
	have := strings.Fields(now)
	for _, f := range strings.Fields(written) {
		if !slices.Contains(have, f) {
			return false
		}
	}
	return true
}

// ownDevice tells whether a device number is that of a loop device of ours.
func (h holder) ownDevice(ctx context.Context, device string) bool {
	for _, e := range h.Entries {
		if e.Thing.Kind != inventory.Loop || e.Gone {
			continue
		}
		ours, err := h.ownLoops(ctx, e)
		if err != nil {
			continue // then it is not proven
		}
		for _, name := range ours {
			text, err := h.Do.ReadFile(ctx, path.Join("/sys/block", name, "dev"))
			if err == nil && strings.TrimSpace(string(text)) == device {
				return true
			}
		}
	}
	return false
}

// sysctl puts a setting of the kernel back while it still has our value.
func (h holder) sysctl(ctx context.Context, e inventory.Entry) error {
	before, value := e.Thing.Proof["before"], e.Thing.Proof["value"]
	if h.rebooted(ctx) {
		return nil
	}
	file := proc.Sysctl(e.Thing.Name) // without dots no way leads out
	text, err := h.Do.ReadFile(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // with the part of the kernel that had it
	}
	if err != nil {
		return err
	}
	now := words(string(text))
	switch now {
	case words(before):
		return nil
	case words(value):
		return h.Do.Write(ctx, file, []byte(before+"\n"))
	}
	return foreign("it is %q now", now)
}

func words(s string) string { return strings.Join(strings.Fields(s), " ") }
