package zfs

import (
	"encoding/json"
	"fmt"
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
	Scan    *struct {
		Function string `json:"function"`
		State    string `json:"state"`
		End      int64  `json:"end_time"`
		Errors   int64  `json:"errors"`
		Paused   int64  `json:"scrub_pause"`
	} `json:"scan_stats"`
}

// parseStatusJSON reads `zpool status -P -j --json-int`.
func parseStatusJSON(text []byte) ([]status, error) {
	var doc struct {
		Pools map[string]*jsonPool `json:"pools"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read the JSON of zpool status: %w", err)
	}
	var all []status
	for name, p := range doc.Pools {
		if p == nil {
			continue
		}
		all = append(all, p.status(name))
	}
	slices.SortFunc(all, func(a, b status) int { return strings.Compare(a.Pool, b.Pool) })
	return all, nil
}

func (p *jsonPool) status(name string) status {
	st := status{Pool: name, State: p.State, Classes: map[string][]*vdev{}, ScanErrors: -1, DataErrors: -1}
	for _, root := range p.Vdevs { // the pool itself
		if root != nil {
			st.put(classData, root.Vdevs)
		}
	}
	for class, vdevs := range map[string]map[string]*jsonVdev{
		classLogs: p.Logs, classCache: p.Cache, classSpares: p.Spares, classSpecial: p.Special, classDedup: p.Dedup,
	} {
		st.put(class, vdevs)
	}
	if p.Errors != nil {
		if n, err := p.Errors.Int64(); err == nil {
			st.DataErrors = n
		}
	}
	p.scan(&st)
	return st
}

func (st *status) put(class string, vdevs map[string]*jsonVdev) {
	if tops := fromJSON(vdevs, 1); len(tops) > 0 {
		st.Classes[class] = tops
	}
}

func fromJSON(vdevs map[string]*jsonVdev, depth int) []*vdev {
	var out []*vdev
	if depth > maxDepth {
		return nil
	}
	for key, j := range vdevs {
		if j == nil {
			continue
		}
		v := &vdev{Name: key, State: j.State, Read: j.Read, Write: j.Write, Checksum: j.Checksum}
		if v.State == "HEALTHY" { // what vdev states are called in this form
			v.State = "ONLINE"
		}
		v.Children = fromJSON(j.Vdevs, depth+1)
		if j.Path != "" && len(v.Children) == 0 {
			v.Name = j.Path
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b *vdev) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (p *jsonPool) scan(st *status) {
	s := p.Scan
	if s == nil || s.Function == "NONE" || s.State == "NONE" {
		st.Scan = "none"
		return
	}
	word, done := "scrub", "scrubbed"
	if s.Function == "RESILVER" {
		word, done = "resilver", "resilvered"
	}
	switch s.State {
	case "FINISHED":
		st.Scan, st.ScanEnd, st.ScanErrors = done, s.End, s.Errors
	case "CANCELED":
		st.Scan = word + " canceled"
	case "SCANNING":
		st.Scan = strings.TrimSuffix(done, "ed") + "ing"
		if word == "scrub" {
			st.Scan = "scrubbing"
			if s.Paused != 0 {
				st.Scan = "scrub paused"
			}
		}
	}
}
