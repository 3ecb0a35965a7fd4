package load

import (
	"fmt"

	"plumb/internal/load/durability"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// VerifyJSON is the document of plumb load verify --json.
type VerifyJSON struct {
	Plumb        int     `json:"plumb"` // JSONVersion
	Kind         string  `json:"kind"`  // "load-verify"
	Version      string  `json:"version"`
	Workload     string  `json:"workload"`
	Target       string  `json:"target"` // the server as the run named it
	Began        string  `json:"began"`  // the run
	Seed         string  `json:"seed"`
	Acknowledged int64   `json:"acknowledged"`  // commits in the ledger
	Found        int64   `json:"found"`         // of those, in the server's table
	Lost         int64   `json:"lost"`          // acknowledged and not in the table
	FirstLost    []int64 `json:"first_lost"`    // numbers of the first ten
	Extra        int64   `json:"extra"`         // in the table and not in the ledger: no loss
	TornBytes    int64   `json:"torn_bytes"`    // at the end of the ledger
	DamagedLines int64   `json:"damaged_lines"` // records of the ledger that cannot be read
}

// Verify says whether a server kept what it acknowledged.
func Verify(v *durability.Outcome, screen page.Screen) string {
	p := page.NewPage(screen)
	if v.Lost > 0 {
		p.Para(page.Red, 0, fmt.Sprintf("%s of %s acknowledged commits are lost", units.Grouped(v.Lost), units.Grouped(v.Acknowledged)))
		first := ""
		for i, n := range v.FirstLost {
			if i > 0 {
				first += ", "
			}
			first += fmt.Sprint(n)
		}
		p.Hang(page.Normal, "  the first  ", "operations "+first)
		p.Para(page.Normal, 2, "The server acknowledged these transactions as committed, but they are gone. Something promised durability and did not keep it: "+
			"the server's settings, the filesystem, or the disk's cache.")
	} else {
		p.Para(page.Bold, 0, fmt.Sprintf("No acknowledged commit is lost: all %s are in the server's table", units.Grouped(v.Acknowledged)))
	}
	p.Hang(page.Normal, "  run        ", fmt.Sprintf("%s on %s · begun %s · seed %d", v.Header.Workload, v.Header.Target, v.Header.Began, v.Header.Seed))
	if v.Extra > 0 {
		p.Hang(page.Normal, "  besides    ", fmt.Sprintf("%s committed that the ledger does not have: they were in progress when it ended, and are not lost", units.Grouped(v.Extra)))
	}
	if v.Torn > 0 {
		p.Hang(page.Normal, "  ledger     ", fmt.Sprintf("its last %d bytes are half a record: its own machine stopped too, so the last commits before that are not compared", v.Torn))
	}
	if v.Damaged > 0 {
		p.Hang(page.Yellow, "  ledger     ", fmt.Sprintf("%s records in the middle cannot be read: its own disk is faulty, so those commits are not compared", units.Grouped(v.Damaged)))
	}
	return p.String()
}

// VerifyDocument is the same as JSON v1.
func VerifyDocument(v *durability.Outcome, version string) VerifyJSON {
	return VerifyJSON{Plumb: page.JSONVersion, Kind: "load-verify", Version: version, Workload: v.Header.Workload, Target: v.Header.Target,
		Began: v.Header.Began, Seed: page.SeedText(v.Header.Seed), Acknowledged: v.Acknowledged, Found: v.Found, Lost: v.Lost,
		FirstLost: page.NotNil(v.FirstLost), Extra: v.Extra, TornBytes: v.Torn, DamagedLines: v.Damaged}
}
