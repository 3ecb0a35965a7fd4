package block

import (
	"context"
	"path"
	"slices"
	"strings"

	"plumb/internal/host"
)

// zvolDepth is how deep datasets are looked for below /dev/zvol.
const zvolDepth = 8

// readZvols finds the dataset of each zvol from the links udev makes, such as
// /dev/zvol/tank/vm/disk0 → ../../../zd16.
func readZvols(ctx context.Context, h host.Reader, names []string) map[string]string {
	if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "zd") }) {
		return nil
	}
	found := map[string]string{}
	pattern := "/dev/zvol/*"
	for range zvolDepth {
		pattern += "/*"
		links, err := h.Glob(ctx, pattern)
		if err != nil || len(links) == 0 {
			break
		}
		for _, link := range links {
			to, err := h.Readlink(ctx, link)
			if dev := path.Base(to); err == nil && found[dev] == "" {
				found[dev] = strings.TrimPrefix(link, "/dev/zvol/")
			}
		}
	}
	return found
}
