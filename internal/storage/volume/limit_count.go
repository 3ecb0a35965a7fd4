package volume

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/host"
)

// parseStat reads /sys/dev/block/M:m/stat: requests and bytes since boot.
// Requests that the kernel merged are counted as they came, because its limit
// does too.
func parseStat(data []byte) (paces, error) {
	f := strings.Fields(string(data))
	if len(f) < 11 || len(f) > 64 {
		return paces{}, fmt.Errorf("it has %d fields, and 11 or more are wanted", len(f))
	}
	var n [7]float64
	for i := range n {
		v, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			return paces{}, fmt.Errorf("its field %d is not a count: %w", i+1, err)
		}
		n[i] = float64(v)
	}
	const sector = 512
	return paces{n[0] + n[1], n[4] + n[5], n[2] * sector, n[6] * sector}, nil
}

// counts reads what a device ("7:0") did since boot.
func counts(ctx context.Context, h host.Reader, device string) (paces, error) {
	name := "/sys/dev/block/" + device + "/stat"
	data, err := h.ReadFile(ctx, name)
	if err != nil {
		return paces{}, err
	}
	c, err := parseStat(data)
	if err != nil {
		return paces{}, fmt.Errorf("read %s: %w", name, err)
	}
	return c, nil
}

// since gives the paces between two counts, dt seconds apart.
func (c paces) since(before paces, dt float64) paces {
	per := func(now, then float64) float64 { return max(now-then, 0) / dt }
	return paces{
		per(c.readIOPS, before.readIOPS), per(c.writeIOPS, before.writeIOPS),
		per(c.readBytes, before.readBytes), per(c.writeBytes, before.writeBytes),
	}
}
