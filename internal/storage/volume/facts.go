package volume

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/lab/experiment"
	"plumb/internal/observe"
)

// Names of counters.
const (
	deviceRead     = "device read"
	deviceWritten  = "device written"
	deviceRequests = "device requests"
	deviceFlushes  = "device flushes"
	spaceUsed      = "space used"
	compression    = "compression ratio"
)

// mountFacts tells what a directory is on, as the kernel says: the mount with
// the longest point above it, the last one mounted where several are stacked.
func mountFacts(ctx context.Context, h host.Reader, dir string) (f experiment.VolumeFacts, point string, err error) {
	all, err := observe.MountTable(ctx, h, "self")
	if err != nil {
		return f, "", fmt.Errorf("look what %s is on: %w", dir, err)
	}
	if st, err := h.Stat(ctx, dir); err == nil && st.Resolved != "" {
		dir = st.Resolved
	}
	m, is := observe.Holding(all, dir)
	if !is {
		return f, "", fmt.Errorf("look what %s is on: no mount is above it", dir)
	}
	return experiment.VolumeFacts{Filesystem: m.Type, Options: strings.Join(m.Options, ","), Device: kernelName(ctx, h, m.Source)}, m.Point, nil
}

// kernelName gives the name in /proc/diskstats of what was mounted, "" when
// that is no device: /dev/mapper/data is a link to /dev/dm-0.
func kernelName(ctx context.Context, h host.Reader, source string) string {
	st, err := h.Stat(ctx, source)
	if err != nil || !strings.HasPrefix(source, "/dev/") {
		return ""
	}
	return path.Base(cmp.Or(st.Resolved, source))
}

// countDevices adds up what devices did; names are those of /proc/diskstats.
// When one of them is not there, nothing is told.
func countDevices(ctx context.Context, h host.Reader, names []string) map[string]float64 {
	text, err := h.ReadFile(ctx, "/proc/diskstats")
	if err != nil || len(names) == 0 {
		return map[string]float64{}
	}
	out := map[string]float64{deviceRead: 0, deviceWritten: 0, deviceFlushes: 0}
	countRequests(ctx, h, names, out)
	all := proc.Diskstats(text)
	for _, name := range names {
		c, ok := all[name]
		if !ok {
			return map[string]float64{}
		}
		out[deviceRead] += float64(c.ReadBytes)
		out[deviceWritten] += float64(c.WrittenBytes)
		if sum, known := out[deviceFlushes]; known && c.HasFlushes {
			out[deviceFlushes] = sum + float64(c.Flushes)
		} else {
			delete(out, deviceFlushes)
		}
	}
	return out
}

// countRequests adds the requests of devices, as a limit counts them: before the
// kernel merged some, and without flushes. Where one of them is not known,
// nothing is told.
func countRequests(ctx context.Context, h host.Reader, names []string, out map[string]float64) {
	sum := 0.0
	for _, name := range names {
		text, err := h.ReadFile(ctx, "/sys/class/block/"+name+"/stat")
		if err != nil {
			return
		}
		c, err := parseStat(text)
		if err != nil {
			return
		}
		sum += c.readIOPS + c.writeIOPS
	}
	if len(names) > 0 {
		out[deviceRequests] = sum
	}
}

// used gives the bytes that are taken of the filesystem of dir.
func used(ctx context.Context, h host.Reader, dir string) (int64, error) {
	st, err := h.Statfs(ctx, dir)
	if err != nil {
		return 0, fmt.Errorf("look how full %s is: %w", dir, err)
	}
	return int64(st.TotalBytes) - int64(st.FreeBytes), nil
}
