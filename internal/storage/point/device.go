package point

import (
	"context"
	"path"

	"plumb/internal/host"
)

// kernelName gives the kernel's name of a device: dm-3 for /dev/mapper/vg-lv.
func kernelName(ctx context.Context, h host.Reader, device string) string {
	if st, err := h.Stat(ctx, device); err == nil && st.Resolved != "" {
		device = st.Resolved
	}
	return path.Base(device)
}
