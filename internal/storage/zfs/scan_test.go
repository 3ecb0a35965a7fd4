package zfs

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// pool is a pool as `zpool status -P` prints it, with these lines of scans and
// this tree; typed from print_scan_status of OpenZFS 2.0 to 2.3, not captured.
func poolText(scans, tree string) string {
	return "  pool: tank\n state: ONLINE\n" + scans + "config:\n\n\tNAME  STATE READ WRITE CKSUM\n" + tree +
		"\nerrors: No known data errors\n"
}

const oneMirror = "\ttank  ONLINE 0 0 0\n\t  mirror-0  ONLINE 0 0 0\n\t    /dev/sda1  ONLINE 0 0 0\n\t    /dev/sdb1  ONLINE 0 0 0\n"

func statusHost(t *testing.T, status string) hosttest.Map {
	m := openZFSHost(t)
	m.Who = host.About{Taken: time.Date(2024, 10, 10, 0, 0, 0, 0, time.UTC), Root: true}
	m.Outputs["zpool status -P"] = status
	return m
}

// TestEveryScanCounts: OpenZFS prints the last scrub and, after it, the last
// sequential resilver of each vdev. None of them hides another.
func TestEveryScanCounts(t *testing.T) {
	const (
		scrubbed    = "  scan: scrub repaired 0B in 00:10:21 with 3 errors on Sun Sep 29 00:00:00 2024\n"
		scrubbing   = "  scan: scrub in progress since Wed Oct  9 23:00:00 2024\n\t1T / 3T scanned at 1G/s, 900G / 3T issued\n\t0B repaired, 30.00% done, 00:45:00 to go\n"
		rebuilt     = "  scan: resilvered (mirror-0) 1.21T in 00:45:12 with 0 errors on Mon Sep 30 09:57:56 2024\n"
		rebuilt1    = "  scan: resilvered (mirror-1) 1.21T in 00:45:12 with 1 errors on Mon Sep 30 10:57:56 2024\n"
		rebuilding  = "  scan: resilver (draid2:4d:9c:1s-0) in progress since Mon Sep 30 09:12:44 2024\n"
		resilvered  = "  scan: resilvered 1.01T in 02:10:15 with 0 errors on Sun Sep 29 00:24:20 2024\n"
		canceled    = "  scan: resilver (mirror-0) canceled on Mon Sep 30 09:57:56 2024\n"
		errorScrub  = " scrub: scrubbed 3 error blocks in 0 days 00:00:01 on Mon Sep 30 09:57:56 2024\n"
		errorScrubs = " scrub: error scrub in progress since Mon Sep 30 09:57:56 2024\n\t1.00% done, issued I/O for 4 error blocks\n"
		thorough    = "  scan: thorough scrub repaired 0B in 00:10:21 with 0 errors on Sun Sep 29 00:00:00 2024\n"
	)
	const day = 86400
	for _, c := range []struct {
		name, text, scan string
		errors, age      int64 // -1: absent, -2: unknown
	}{
		{"never", "", "none", -1, -1},
		{"scrub", scrubbed, "scrubbed", 3, 11 * day},
		{"scrub_and_resilver", scrubbed + rebuilt, "resilvered", 3, 11 * day},
		{"two_vdevs", scrubbed + rebuilt + rebuilt1, "resilvered", 3, 11 * day},
		{"errors_of_a_resilver", rebuilt + rebuilt1, "resilvered", 1, -2},
		{"scrub_runs", scrubbing + rebuilt, "scrubbing", 0, -2},
		{"resilver_runs", scrubbed + rebuilding, "resilvering", 3, 11 * day},
		{"resilver_and_scrub_run", scrubbing + rebuilding, "resilvering", -1, -2},
		{"resilver_of_blocks", resilvered, "resilvered", 0, -2},
		{"resilver_canceled", scrubbed + canceled, "scrubbed", 3, 11 * day},
		{"error_scrub", errorScrub + rebuilt, "resilvered", 0, -2},
		{"error_scrub_runs", errorScrubs, "error scrubbing", -1, -2},
		{"thorough", thorough, "scrubbed", 0, 11 * day},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := lookAt(t, statusHost(t, poolText(c.text, oneMirror)))
			want := map[string]stack.Value{"scan": stack.Text(c.scan), "scan_errors": stack.Int(c.errors)}
			if c.errors < 0 {
				want["scan_errors"] = stack.Value{}
			}
			switch c.age {
			case -1:
				want["scrub_age"] = stack.Value{}
			case -2:
				unknown(t, s, "pool", "tank", "scrub_age")
			default:
				want["scrub_age"] = stack.Int(c.age)
			}
			check(t, s, "pool:tank", want)
		})
	}
}

// TestErrorsOfTheWholeTreeCount: the damaged blocks of a RAIDZ vdev that no
// device can be blamed for are counted on the vdev and on the pool's line.
func TestErrorsOfTheWholeTreeCount(t *testing.T) {
	for _, c := range []struct {
		name, tree            string
		read, write, checksum int64
	}{
		{"pool_and_vdev", "\ttank  ONLINE 0 0 9\n\t  raidz1-0  ONLINE 0 0 18\n\t    /dev/sda1  ONLINE 0 0 0\n\t    /dev/sdb1  ONLINE 0 0 0\n", 0, 0, 18},
		{"only_the_pool", "\ttank  ONLINE 2 0 4\n\t  /dev/sda1  ONLINE 0 0 0\n", 2, 0, 4},
		{"one_error_on_each_level", "\ttank  ONLINE 0 0 4\n\t  mirror-0  ONLINE 0 0 4\n\t    /dev/sda1  ONLINE 0 0 4\n\t    /dev/sdb1  ONLINE 0 1 4\n", 0, 1, 8},
		{"log", "\ttank  ONLINE 0 0 0\n\t  /dev/sda1  ONLINE 0 0 1\n\tlogs\n\t  mirror-1  ONLINE 0 7 0\n\t    /dev/sdb1  ONLINE 0 3 0\n", 0, 7, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := lookAt(t, statusHost(t, poolText("", c.tree)))
			check(t, s, "pool:tank", map[string]stack.Value{
				"read_errors": stack.Int(c.read), "write_errors": stack.Int(c.write), "checksum_errors": stack.Int(c.checksum),
			})
		})
	}
}

// TestDistributedSparesAreNoDevices: the tree is that of the dRAID howto of
// OpenZFS, shortened.
func TestDistributedSparesAreNoDevices(t *testing.T) {
	tree := "\ttank  DEGRADED 0 0 0\n\t  draid1:4d:11c:1s-0  DEGRADED 0 0 0\n\t    /dev/sda  ONLINE 0 0 0  (resilvering)\n" +
		"\t    spare-6  DEGRADED 0 0 0\n\t      /dev/sdg  UNAVAIL 0 0 0\n\t      draid1-0-0  ONLINE 0 0 0  (resilvering)\n" +
		"\tspares\n\t  draid1-0-0  INUSE     currently in use\n"
	s := lookAt(t, statusHost(t, poolText("", tree)))
	check(t, s, "pool:tank", map[string]stack.Value{
		"vdev_paths": stack.List([]string{"/dev/sda", "/dev/sdg"}), "layout": stack.Text("draid"),
		"unhealthy_devices": stack.List([]string{"/dev/sdg UNAVAIL"}),
	})
}

func TestUnreadableErrorsLeaveAGap(t *testing.T) {
	text := strings.Replace(poolText("", oneMirror), "No known data errors", "List of errors unavailable (insufficient privileges)", 1)
	unknown(t, lookAt(t, statusHost(t, text)), "pool", "tank", "data_errors")
}
