package zfs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// jsonVdev is a vdev in `zpool status -j --json-int` (OpenZFS 2.3).
type jsonVdev struct {
	Name     string               `json:"name"`
	Path     string               `json:"path"`
	Type     string               `json:"vdev_type"`
	State    string               `json:"state"`
	Read     int64                `json:"read_errors"`
	Write    int64                `json:"write_errors"`
	Checksum int64                `json:"checksum_errors"`
	Vdevs    map[string]*jsonVdev `json:"vdevs"`
}

type jsonPool struct {
	Name    string               `json:"name"`
	State   string               `json:"state"`
	Vdevs   map[string]*jsonVdev `json:"vdevs"`
	Logs    map[string]*jsonVdev `json:"logs"`
	Cache   map[string]*jsonVdev `json:"l2cache"`
	Spares  map[string]*jsonVdev `json:"spares"`
	Special map[string]*jsonVdev `json:"special"`
	Dedup   map[string]*jsonVdev `json:"dedup"`
	Errors  *json.Number         `json:"error_count"`
	Scan    *jsonScan            `json:"scan_stats"`
}

// jsonScan tells of the last scrub or resilver of the pool, of an error scrub
// since, and of the last sequential resilver of each top-level vdev.
type jsonScan struct {
	Function   string               `json:"function"`
	State      string               `json:"state"`
	End        int64                `json:"end_time"`
	Errors     int64                `json:"errors"`
	Paused     int64                `json:"scrub_pause"`
	ErrorScrub string               `json:"err_scrub_state"`
	ErrorPause int64                `json:"err_scrub_pause"`
	Rebuilds   map[string]*jsonScan `json:"rebuild_stats"`
}

// ParseStatusJSON reads `zpool status -P -j --json-int`.
func ParseStatusJSON(text []byte) ([]Status, error) {
	var doc struct {
		Pools map[string]*jsonPool `json:"pools"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read the JSON of zpool status: %w", err)
	}
	var all []Status
	for name, p := range doc.Pools {
		if p == nil {
			continue
		}
		all = append(all, p.status(name))
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Pool, b.Pool) })
	return all, nil
}

func (p *jsonPool) status(name string) Status {
	st := Status{Pool: name, State: p.State, Classes: map[string][]*Vdev{}, ScanRead: true, DataErrors: -1}
	for _, root := range p.Vdevs { // the pool itself
		if root != nil {
			st.Root = &Vdev{Name: name, State: root.state(), Errors: root.errors()}
			st.put(ClassData, root.Vdevs)
		}
	}
	for class, vdevs := range map[string]map[string]*jsonVdev{
		ClassLogs: p.Logs, ClassCache: p.Cache, ClassSpares: p.Spares, ClassSpecial: p.Special, ClassDedup: p.Dedup,
	} {
		st.put(class, vdevs)
	}
	if p.Errors != nil {
		if n, err := p.Errors.Int64(); err == nil {
			st.DataErrors = n
		}
	}
	st.Scans, st.ScanRead = p.Scan.scans()
	return st
}

func (st *Status) put(class string, vdevs map[string]*jsonVdev) {
	if tops := fromJSON(vdevs, 1); len(tops) > 0 {
		st.Classes[class] = tops
	}
}

func fromJSON(vdevs map[string]*jsonVdev, depth int) []*Vdev {
	var out []*Vdev
	if depth > maxDepth {
		return nil
	}
	for key, j := range vdevs {
		if j == nil {
			continue
		}
		v := &Vdev{Name: key, State: j.state(), Errors: j.errors()}
		v.Children = fromJSON(j.Vdevs, depth+1)
		if j.Path != "" && len(v.Children) == 0 {
			v.Name = j.Path
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b *Vdev) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (j *jsonVdev) errors() ErrorCounts { return ErrorCounts{j.Read, j.Write, j.Checksum} }

func (j *jsonVdev) state() string {
	if j.State == "HEALTHY" { // what vdev states are called in this form
		return "ONLINE"
	}
	return j.State
}

// scans gives the scans in the order of the text form, and whether all were
// understood.
func (s *jsonScan) scans() (all []Scan, understood bool) {
	if s == nil {
		return nil, true
	}
	understood = true
	add := func(what, state string, paused, end, errors int64) {
		found := Scan{What: what, State: scanStates[state], Errors: -1}
		switch {
		case state == "" || state == "NONE":
			return
		case what == "" || found.State == "":
			understood = false
			return
		case found.State == scanRunning && paused != 0:
			found.State = scanPaused
		case found.State == scanDone:
			found.End, found.Errors = end, errors
		}
		all = append(all, found)
	}
	if s.Function != "NONE" {
		add(map[string]string{"SCRUB": "scrub", "RESILVER": "resilver"}[s.Function], s.State, s.Paused, s.End, s.Errors)
	}
	add("error scrub", s.ErrorScrub, s.ErrorPause, 0, -1)
	for _, name := range slices.Sorted(maps.Keys(s.Rebuilds)) {
		if r := s.Rebuilds[name]; r != nil {
			add("resilver", r.State, 0, r.End, r.Errors)
		}
	}
	return all, understood
}

// scanStates are our words for pool_scan_state_str and vdev_rebuild_state_str
// of cmd/zpool.
var scanStates = map[string]string{
	"SCANNING": scanRunning, "ERRORSCRUBBING": scanRunning, "ACTIVE": scanRunning,
	"FINISHED": scanDone, "COMPLETE": scanDone, "CANCELED": scanCanceled,
}
