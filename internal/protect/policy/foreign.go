package policy

import (
	"slices"
	"strings"
	"time"

	"plumb/internal/protect"
)

// Foreign is what another program made on the volumes of a server: seen, never touched. How it
// was taken is not known.
type Foreign struct {
	Volume    string    `json:"volume"`
	By        string    `json:"by"` // "" for nobody known
	Snapshots int       `json:"snapshots"`
	Newest    string    `json:"newest"` // snapshot
	At        time.Time `json:"at"`     // it was taken
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

// Count sums up snapshots of others. Of each volume they come oldest first.
func Count(snapshots []protect.Foreign) (all []Foreign) {
	for _, s := range snapshots {
		_, name, _ := strings.Cut(s.Snapshot, "@")
		by := By(name)
		i := slices.IndexFunc(all, func(f Foreign) bool { return f.Volume == s.Name && f.By == by })
		if i < 0 {
			i, all = len(all), append(all, Foreign{Volume: s.Name, By: by})
		}
		all[i].Snapshots++
		all[i].Newest, all[i].At = s.Snapshot, s.At
	}
	return all
}
