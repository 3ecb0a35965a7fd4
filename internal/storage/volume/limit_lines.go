package volume

import (
	"context"
	"errors"
	"math"
	"strconv"

	"plumb/internal/host"
)

const blkio = "/sys/fs/cgroup/blkio/"

var errNoGroups = errors.New("no control group of this machine limits devices: the blkio controller of version 1 is wanted")

// line is one limit as the kernel takes it.
type line struct {
	file, line, undo string
}

// limitLines gives the lines that limit a device: those of the root group,
// because there what the kernel writes later for somebody (buffered writes,
// commits of a journal) is counted too.
func limitLines(device string, l paces) []line {
	var all []line
	for _, f := range []struct {
		name string
		most float64
	}{{"read_iops", l.readIOPS}, {"write_iops", l.writeIOPS}, {"read_bps", l.readBytes}, {"write_bps", l.writeBytes}} {
		if f.most > 0 {
			all = append(all, line{
				blkio + "blkio.throttle." + f.name + "_device",
				device + " " + strconv.FormatFloat(math.Max(math.Round(f.most), 1), 'f', 0, 64), device + " 0",
			})
		}
	}
	return all
}

// canLimit is an error where devices cannot be limited.
func canLimit(ctx context.Context, h host.Reader) error {
	if _, err := h.Stat(ctx, blkio+"blkio.throttle.read_iops_device"); err != nil {
		return errNoGroups
	}
	return nil
}
