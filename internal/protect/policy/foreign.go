package policy

import "strings"

// Foreign is what another program made on the volumes of a server: seen, never touched.
type Foreign struct {
	Volume    string `json:"volume"`
	By        string `json:"by"` // "" for nobody known
	Snapshots int    `json:"snapshots"`
}

// foreign are the beginnings of the names that other programs give to snapshots, behind
// the @. The longer of two comes first.
func foreign() []struct{ prefix, by string } {
	return []struct{ prefix, by string }{
		{"autosnap_", "sanoid"},
		{"syncoid_", "syncoid"},
		{"zrepl_", "zrepl"},
		{"__replicate_", "Proxmox"},
		{"__migration__", "Proxmox"},
		{"vzdump", "Proxmox"},
		{"zfs-auto-snap_", "zfs-auto-snapshot"},
		{"pyznap_", "pyznap"},
		{"bzfs_", "bzfs"},
		{"auto-", "TrueNAS"},
	}
}

// By tells which program made a snapshot of a name (what follows the @), judged by the name
// alone; "" for one that nobody known made, or Plumb.
func By(name string) string {
	for _, f := range foreign() {
		if strings.HasPrefix(name, f.prefix) {
			return f.by
		}
	}
	// zfs-autobackup names after its group, which anybody chooses: offsite1-20261123210500.
	if i := strings.LastIndexByte(name, '-'); i > 0 && digits(name[i+1:]) && len(name)-i-1 == len("20261123210500") {
		return "zfs-autobackup"
	}
	return ""
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Count sums up snapshots of others, given as volume@name.
func Count(snapshots []string) (all []Foreign) {
	for _, s := range snapshots {
		volume, name, ok := strings.Cut(s, "@")
		if !ok || strings.HasPrefix(name, "plumb-") {
			continue
		}
		f := Foreign{Volume: volume, By: By(name), Snapshots: 1}
		found := false
		for i := range all {
			if all[i].Volume == f.Volume && all[i].By == f.By {
				all[i].Snapshots++
				found = true
			}
		}
		if !found {
			all = append(all, f)
		}
	}
	return all
}
