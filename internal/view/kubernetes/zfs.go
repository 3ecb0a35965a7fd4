package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/provision"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// datasets writes the classes of OpenEBS's ZFS-LocalPV, one for each role. Names and values are those
// of its controller and of its resource ZFSVolume, as of October 2024.
func (w *writer) datasets() error {
	// ValidateStorageClassUpdate in pkg/apis/storage/validation of Kubernetes.
	w.comment("A cluster refuses other parameters for a class that already exists. Delete the class first (kubectl delete storageclass NAME): volumes made from it stay as they are.")
	for _, v := range w.Volumes {
		if v.At == "" { // of a parent, which holds nothing
			continue
		}
		v.Properties = w.inherited(v)
		if v.Dataset == "" {
			return fmt.Errorf("write a class for %s: it is neither a dataset nor on a filesystem of the spec", v.Role)
		}
		w.WriteString("\n")
		w.comment("On each node, before: "+create(v),
			"If that dataset exists, the command succeeds and changes nothing: set its properties with zfs set.",
			"ZFS-LocalPV makes volumes below that dataset. What a class cannot contain, they inherit from it: "+unsaid(v)+".")
		w.storageClass(w.class(v.Role), "zfs.csi.openebs.io", nil)
		w.WriteString("allowVolumeExpansion: true\nparameters:\n")
		w.line(2, "fstype", "zfs")
		w.line(2, "poolname", v.Dataset)
		for _, key := range []string{"recordsize", "compression"} {
			if value, ok := parameter(key, v.Properties[key]); ok {
				w.line(2, key, value)
			}
		}
	}
	return nil
}

// inherited gives the properties of a volume with those of the plan's datasets above it: on a node zfs create -p makes those with none.
func (w *writer) inherited(v provision.Volume) map[string]string {
	all := map[string]string{}
	for _, above := range w.Volumes { // what is above comes first
		if zfs.Within(v.Dataset, above.Dataset) {
			maps.Copy(all, above.Properties)
		}
	}
	return all
}

// create is the command that makes the dataset in which the volumes of a role come to lie.
func create(v provision.Volume) string {
	words := []string{"zfs create -p -o canmount=off -o mountpoint=none"}
	for _, key := range slices.Sorted(maps.Keys(v.Properties)) {
		if !ofPlace(key) {
			words = append(words, "-o "+key+"="+v.Properties[key])
		}
	}
	return strings.Join(append(words, v.Dataset), " ")
}

// ofPlace tells whether a property is one dataset's own: the driver mounts its volumes itself.
func ofPlace(key string) bool {
	return key == "mountpoint" || key == "canmount" || strings.HasPrefix(key, "org.plumb:")
}

// unsaid lists what volumes have only from the dataset above them.
func unsaid(v provision.Volume) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(v.Properties)) {
		if _, said := parameter(key, v.Properties[key]); !said && !ofPlace(key) {
			all = append(all, key+"="+v.Properties[key])
		}
	}
	if all == nil {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// parameter gives a property as a class says it; false for what it cannot say.
func parameter(key, value string) (string, bool) {
	switch key {
	case "recordsize":
		n, ok := units.ParseBytes(value)
		if !ok || n < 512 || n > 128<<10 || n&(n-1) != 0 {
			return "", false
		}
		if n%1024 != 0 {
			return strconv.FormatInt(n, 10), true
		}
		return strconv.FormatInt(n/1024, 10) + "k", true
	case "compression":
		if slices.Contains([]string{"on", "off", "lzjb", "lz4", "zle", "gzip", "zstd", "zstd-fast"}, value) {
			return value, true
		}
		kind, level, _ := strings.Cut(value, "-")
		n, err := strconv.Atoi(level)
		return value, err == nil && n >= 1 && n <= map[string]int{"gzip": 9, "zstd": 19}[kind] && strconv.Itoa(n) == level
	}
	return "", false
}
