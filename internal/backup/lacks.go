package backup

// Lacks tells, for each backup of a list that cannot be restored, which backup it needs, directly or through others, that is
// missing or not believed. If backups need each other in a circle, it is one of these.
func Lacks(all []Found) map[string]string {
	there := map[string]Found{}
	for _, f := range all {
		if f.Err == nil {
			there[f.ID] = f
		}
	}
	lacks := map[string]string{}
	for id, f := range there {
		seen := map[string]bool{id: true}
		for next := f.Bases(); len(next) > 0; next = next[1:] {
			base, is := there[next[0]]
			if !is || seen[next[0]] {
				lacks[id] = next[0]
				break
			}
			seen[next[0]] = true
			next = append(next, base.Bases()...)
		}
	}
	return lacks
}
