package volume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/zfs"
)

func checkDataset(ctx context.Context, h host.Reader, v experiment.Volume) (lab.Need, error) {
	need := lab.Need{Root: true, Programs: []string{"zpool", "zfs"}, Place: v.Parent, Why: "a dataset"}
	if err := checkDatasetWords(v); err != nil {
		return need, err
	}
	if !h.About().Root {
		return need, hint.With(errors.New("a volume that is a dataset needs root"), rootHint)
	}
	if err := programs(ctx, h, need.Programs); err != nil {
		return need, err
	}
	if !openZFS(ctx, h) {
		if err := checkFuse(v); err != nil {
			return need, err
		}
	}
	text, err := h.Output(ctx, zfs.Values(v.Parent)...)
	if err != nil {
		return need, hint.With(fmt.Errorf("volume.parent %s: %w", v.Parent, err), "zfs list shows those there are, and zpool import the pools that could be imported")
	}
	all := zfs.ParseValues(text)
	if err := checkParent(v.Parent, all); err != nil {
		return need, err
	}
	free, err := strconv.ParseInt(all["available"], 10, 64)
	if err != nil {
		return need, fmt.Errorf("volume.parent %s: it does not tell how much it has available: %w", v.Parent, err)
	}
	need.Room = free
	return need, nil
}

func checkDatasetWords(v experiment.Volume) error {
	if v.Profile != "" {
		return hint.With(errors.New("volume.profile: a dataset is on devices that others use, so it cannot be limited"), "volume.kind: loop or zpool can")
	}
	if v.Size+v.Log+v.Cache+v.ARC != 0 || v.Filesystem != "" || v.Mount != "" || len(v.Mkfs) > 0 || v.Layout != "" || v.Vdevs != 0 || len(v.Pool) > 0 {
		return hint.With(errors.New("a volume that is a dataset has no size, devices or pool of its own"), "volume.kind: zpool has")
	}
	if !zfs.IsDataset(v.Parent) {
		return hint.With(fmt.Errorf("volume.parent %q: that is not a dataset", v.Parent), "it is a name such as tank or tank/db, without a slash before it")
	}
	for _, name := range slices.Sorted(maps.Keys(v.Properties)) {
		if ours(name) || strings.ContainsAny(name, "=: \t\n") || name == "" {
			return fmt.Errorf("volume.properties.%s: that is not for an experiment to set", name)
		}
		if value := v.Properties[name]; harmsPool(name) && value != "off" && value != "none" && value != "0" {
			return hint.With(fmt.Errorf("volume.properties.%s: %s would affect what others have in the pool", name, value), "volume.kind: zpool makes a pool of its own")
		}
	}
	return checkClone(v, "a dataset", byCopy, bySnapshot)
}

// harmsPool tells which properties of one dataset concern all others: the
// table of dedup is kept for the whole pool, and what is reserved is taken
// from them.
func harmsPool(property string) bool {
	return slices.Contains([]string{"dedup", "reservation", "refreservation"}, property)
}

// checkParent tells why nothing can be made below a dataset. What a version
// does not have is not among its properties.
func checkParent(name string, all map[string]string) error {
	switch {
	case all["type"] != "filesystem":
		return hint.With(fmt.Errorf("volume.parent %s: it is a %s, and only a filesystem can have datasets below it", name, all["type"]), "the dataset above it, or the pool, can")
	case all["keystatus"] == "unavailable":
		return hint.With(fmt.Errorf("volume.parent %s: it is encrypted, and its key is not loaded", name), "zfs load-key "+name+", or another parent")
	case all["readonly"] == "on":
		return hint.With(fmt.Errorf("volume.parent %s: it is read-only, and so would everything below it be", name), "another parent")
	}
	return nil
}
