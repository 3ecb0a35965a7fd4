package zfs

import (
	"fmt"
	"testing"
)

func TestScansOfTheJSONForm(t *testing.T) {
	const rebuild = `"rebuild_stats":{"mirror-0":{"name":"mirror-0","state":"%s","start_time":1,"end_time":%d,"errors":%d}}`
	for _, c := range []struct{ name, stats, want string }{
		{"scrub_and_resilver", `{"function":"SCRUB","state":"FINISHED","end_time":100,"errors":3,` + fmt.Sprintf(rebuild, "COMPLETE", 200, 0) + `}`,
			"resilvered errors 3 scrub 100"},
		{"only_a_resilver", `{` + fmt.Sprintf(rebuild, "ACTIVE", 0, 0) + `}`, "resilvering errors -1 scrub 0"},
		{"never_scanned", `{"function":"NONE","state":"NONE","errors":0}`, "none errors -1 scrub 0"},
		{"error_scrub", `{"function":"SCRUB","state":"FINISHED","end_time":100,"errors":0,"err_scrub_func":"ERRORSCRUB","err_scrub_state":"ERRORSCRUBBING"}`,
			"error scrubbing errors 0 scrub 100"},
		{"later_version", `{"function":"SCRUB","state":"PONDERING"}`, "not understood"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := ParseStatusJSON([]byte(`{"pools":{"tank":{"state":"ONLINE","scan_stats":` + c.stats + `}}}`))
			if err != nil || len(all) != 1 {
				t.Fatalf("read %v, %v", all, err)
			}
			got := fmt.Sprintf("%s errors %d scrub %d", all[0].ScanWord(), all[0].ScanErrors(), all[0].LastScrub())
			if !all[0].ScanRead {
				got = "not understood"
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzParseScan(f *testing.F) {
	f.Add("scrub repaired 0B in 00:10:21 with 2 errors on Sun Nov  8 00:34:22 2026")
	f.Add("resilver (mirror-0) in progress since Mon Sep 30 09:12:44 2024")
	f.Fuzz(func(t *testing.T, line string) {
		if s, ok := parseScan(line); ok && s.word() == "" {
			t.Errorf("no word for %+v", s)
		}
	})
}
