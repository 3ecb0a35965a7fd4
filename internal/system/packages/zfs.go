package packages

import (
	"context"
	"fmt"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
)

// ZFS are the packages of OpenZFS that are missing here. On Debian the module is
// built, on Ubuntu the kernel's package has it.
func ZFS(ctx context.Context, h host.Reader) (Want, error) {
	names := []string{"zfsutils-linux", "zfs-zed"}
	loaded, err := host.Exists(ctx, h, "/sys/module/zfs")
	if err != nil || loaded {
		return Want{Names: names}, err
	}
	if _, err := h.Output(ctx, "modinfo", "-F", "version", "zfs"); err == nil {
		return Want{Names: names}, nil
	}
	release, err := h.Output(ctx, "uname", "-r")
	if err != nil {
		return Want{}, fmt.Errorf("see which kernel runs: %w", err)
	}
	return Want{Names: append([]string{"linux-headers-" + strings.TrimSpace(string(release)), "zfs-dkms"}, names...)}, nil
}

// Module loads the module of ZFS where it is not, once the packages are there.
func Module(ctx context.Context, h host.Reader) (change.Recipe, error) {
	loaded, err := host.Exists(ctx, h, "/sys/module/zfs")
	if err != nil || loaded {
		return change.Recipe{}, err
	}
	return change.Recipe{Effect: catalog.Now, Acts: []change.Act{{Switch: &change.Switch{On: "the module zfs", From: change.None, Exact: true,
		Inspect: change.Inspection{File: "/proc/modules", Match: `^(zfs) .*$`}, After: "zfs",
		Do:       []change.Op{{Argv: []string{"modprobe", "zfs"}}},
		UndoNone: []change.Op{{Argv: []string{"modprobe", "-r", "zfs"}}}}}}}, nil
}
