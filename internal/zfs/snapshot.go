package zfs

import "strings"

// Snapshots of one dataset: how many, and the newest.
type Snapshots struct {
	Count   int64
	Newest  string // after the @
	Created int64  // Unix time
	TXG     int64  // transaction group of the newest
	Oldest  int64  // Unix time of the first one made; 0 where that is not printed
}

// ParseSnapshots reads lines of name, and where printed creation and
// createtxg. Without those the last one listed counts as the newest, which
// is the order ZFS lists them in.
func ParseSnapshots(text []byte) map[string]Snapshots {
	all := map[string]Snapshots{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		dataset, name, ok := strings.Cut(f[0], "@")
		if !ok || dataset == "" || len(f) != 1 && len(f) != 3 {
			continue
		}
		s := all[dataset]
		s.Count++
		var created, txg int64
		if len(f) == 3 {
			created, _ = ParseCount(f[1])
			txg, _ = ParseCount(f[2])
		}
		if created > 0 && (s.Oldest == 0 || created < s.Oldest) {
			s.Oldest = created
		}
		if txg >= s.TXG && created >= s.Created {
			s.Newest, s.Created, s.TXG = name, created, txg
		}
		all[dataset] = s
	}
	return all
}
