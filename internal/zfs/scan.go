package zfs

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Scan is one scrub or resilver that `zpool status` tells of. It tells of up
// to one scrub or resilver of the pool and, after it, of the last sequential
// resilver of each top-level vdev (print_scan_status of OpenZFS 2.0 and later).
type Scan struct {
	What   string // scrub, resilver, "error scrub"
	State  string // running, paused, canceled, done
	End    int64  // Unix time at which it was done; 0 when not known
	Errors int64  // that it could not repair; -1 when it does not tell
}

// The states of a scan.
const (
	scanRunning  = "running"
	scanPaused   = "paused"
	scanCanceled = "canceled"
	scanDone     = "done"
)

var (
	finished = regexp.MustCompile(`^(?:thorough )?(scrub completed|resilver completed|scrub repaired|resilvered).* with (\d{1,18}) errors on (.*)$`)
	examined = regexp.MustCompile(`^scrubbed \d+ error blocks in .* on `)
	ongoing  = regexp.MustCompile(`^(?:thorough )?(scrub|resilver|error scrub)(?: \(\S+\))? (in progress|paused|canceled|stopped)\b`)
)

// parseScan reads what follows "scan:", or "scrub:" in zfs-fuse and for error
// scrubs. Times are those of the host's clock, without a zone.
func parseScan(value string) (Scan, bool) {
	if m := finished.FindStringSubmatch(value); m != nil {
		s := Scan{What: "scrub", State: scanDone}
		if strings.HasPrefix(m[1], "resilver") {
			s.What = "resilver"
		}
		s.Errors, _ = strconv.ParseInt(m[2], 10, 64)
		if t, err := time.Parse(time.ANSIC, m[3]); err == nil {
			s.End = t.Unix()
		}
		return s, true
	}
	if examined.MatchString(value) {
		return Scan{What: "error scrub", State: scanDone, Errors: -1}, true
	}
	m := ongoing.FindStringSubmatch(value)
	if m == nil {
		return Scan{}, false
	}
	state := map[string]string{"in progress": scanRunning, "stopped": scanCanceled}[m[2]]
	if state == "" {
		state = m[2]
	}
	return Scan{What: m[1], State: state, Errors: -1}, true
}

// word names the scan as the fact does.
func (s Scan) word() string {
	stem := map[string]string{"scrub": "scrubb", "resilver": "resilver", "error scrub": "error scrubb"}[s.What]
	switch s.State {
	case scanRunning:
		return stem + "ing"
	case scanDone:
		return stem + "ed"
	}
	return s.What + " " + s.State
}

// ScanWord tells of several scans in a word: one that runs before one that is
// over, a resilver before a scrub, because redundancy is missing until it ends.
func (st Status) ScanWord() string {
	if len(st.Scans) == 0 {
		return "none"
	}
	rank := func(s Scan) int {
		n := 2 * slices.Index([]string{scanRunning, scanPaused, scanDone, scanCanceled}, s.State)
		if s.What != "resilver" {
			n++
		}
		if s.State == scanDone || s.State == scanCanceled {
			n = 4
		}
		return n
	}
	// Of scans that are over the later one comes; one without a time is last.
	return slices.MinFunc(st.Scans, func(a, b Scan) int {
		if n := rank(a) - rank(b); n != 0 {
			return n
		}
		return int(max(-1, min(1, b.End-a.End)))
	}).word()
}

// ScanErrors gives the most errors that one of the finished scans met; -1 when
// none tells. A resilver without errors takes nothing back of what a scrub
// found, and one block may be counted by both.
func (st Status) ScanErrors() int64 {
	most := int64(-1)
	for _, s := range st.Scans {
		most = max(most, s.Errors)
	}
	return most
}

// LastScrub gives the end of the finished scrub; 0 when it is not shown.
func (st Status) LastScrub() int64 {
	for _, s := range st.Scans {
		if s.What == "scrub" && s.State == scanDone {
			return s.End
		}
	}
	return 0
}
