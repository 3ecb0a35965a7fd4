package watch

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/rule"
	"plumb/internal/watch"
	"plumb/test/sandbox"
	"plumb/test/watch/counted"
)

// ofZFS are the verdicts that only a ZFS that counts can decide, where sessions wait for commits. Two are ruled out there: that the
// ARC holds what the server holds (zfs/double-cache), because they do not wait for reads, and that writers are slowed for the log
// (zfs/throttle-log), because a ZFS without zfs_wrlog_data_max has no such limit.
var ofZFS = []string{"zfs/arc-squeezed", "zfs/throttle-arc", "zfs/throttle-disk", "zfs/throttle-parameter", "zfs/throttle-space"}

// Incident 25: zfs-fuse counts nothing, so nobody can tell. The twin is on ext4, where it is known.
func TestZFSFuseCannotBeTold(t *testing.T) {
	const settings = "innodb_buffer_pool_size=16M\ninnodb_flush_method=fsync\ninnodb_use_native_aio=0\ninnodb_flush_log_at_trx_commit=1\n" // it knows no O_DIRECT
	for name, fuse := range map[string]bool{"incident": true, "twin": false} {
		t.Run(name, func(t *testing.T) {
			s := bare(t, ofMySQL)
			if fuse {
				pool, err := s.box.ZFSFuse(900)
				sandbox.Need(t, err)
				s.dir, err = pool.Dataset("data", "recordsize=16K")
				check_(t, err)
			} else {
				s.on("data")
			}
			s.mariadb(settings, nil)
			s.watch()
			s.load(4, updateRow)
			s.cannotTell(ofZFS, fuse, "zfs-fuse", looked)
		})
	}
}

// cannotTell waits, and wants verdicts to be unknown for a reason, or none of them to be. Raised is none.
func (s *scene) cannotTell(ids []string, want bool, why string, d time.Duration) {
	s.t.Helper()
	time.Sleep(d)
	m := s.judge.Moment(s.judge.Known())
	unknown := map[string][]rule.Missing{}
	for _, x := range m.Servers {
		if x.Ref == s.ref {
			for _, u := range x.Unknown {
				unknown[u.ID] = u.Missing
			}
		}
	}
	verdict := "RIGHT"
	for _, id := range ids {
		missing, is := unknown[id]
		is = is && slices.ContainsFunc(missing, func(m rule.Missing) bool { return strings.Contains(m.Why, why) })
		raised := slices.ContainsFunc(m.Verdicts, func(v watch.Verdict) bool { return v.ID == id && v.Server == s.ref })
		if is != want || raised {
			verdict = "WRONG"
			s.t.Errorf("%s: unknown because of %s: %v, want %v; raised %v; missing %+v", id, why, is, want, raised, missing)
		}
	}
	s.t.Logf("RUN %s %s: unknown %q", verdict, s.t.Name(), slices.Sorted(maps.Keys(unknown)))
	words := map[bool]string{true: "cannot be told", false: "told"}
	s.count(counted.Run{Wanted: words[want], Said: words[want == (verdict == "RIGHT")], Right: verdict == "RIGHT"}, 0)
	s.show(m)
	if !want {
		s.heard(m)
	}
}
