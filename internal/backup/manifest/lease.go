package manifest

import (
	"cmp"
	"encoding/json"
	"time"
)

// LeaseName is the object that says who prunes, or did last.
const LeaseName = "prune/lease"

// MaxLease is how large it can be, in bytes.
const MaxLease = 4096

// Lease is what it says. Nobody signs it: it only has somebody wait, or warns.
type Lease struct {
	By    string        `json:"by"`
	Word  string        `json:"word"` // another each time
	Ended bool          `json:"ended,omitempty"`
	Keeps time.Duration `json:"keeps_ns,omitempty"` // how far back the rules reach; 0 where locks may end before
}

// OpenLease reads a lease. It may hold anything: then it is somebody's.
func OpenLease(text []byte) (l Lease) {
	_ = json.Unmarshal(text, &l)
	l.By = cmp.Or(l.By, "somebody")
	return l
}
