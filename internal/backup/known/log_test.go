package known

import (
	"testing"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
)

// The newest base that is old enough decides, and of what nobody looked at, or is no base, nothing is known.
func TestLogged(t *testing.T) {
	base := func(id string, ago time.Duration) backup.Found {
		return backup.Found{Manifest: manifest.Manifest{ID: id, Server: "mysql:1", Ended: noon.Add(-ago)}}
	}
	missing, archived := archive.Behind{}, archive.Behind{Archived: true}
	all := []backup.Found{base("a", 48*time.Hour), base("b", 24*time.Hour), base("dump", 2*time.Hour), base("new", time.Minute)}
	for _, c := range []struct {
		name   string
		behind map[string]archive.Behind
		want   string
	}{
		{"archived", map[string]archive.Behind{"a": missing, "b": archived}, LogArchived},
		{"no more", map[string]archive.Behind{"a": archived, "b": missing}, LogMissing},
		{"just made", map[string]archive.Behind{"b": archived, "new": missing}, LogArchived},
		{"only just made", map[string]archive.Behind{"new": missing}, ""},
		{"no base", map[string]archive.Behind{}, ""},
		{"nobody could look", nil, ""},
	} {
		p := Place{Servers: []Server{{Name: "gone", Log: LogMissing}, {Name: "mysql:1", Log: "of before"}}}
		p.See(all, noon)
		p.Logged(all, c.behind, noon)
		if p.Servers[0].Log != "" || p.Servers[1].Log != c.want {
			t.Errorf("%s: %+v, and it should be %q", c.name, p.Servers, c.want)
		}
	}
}
