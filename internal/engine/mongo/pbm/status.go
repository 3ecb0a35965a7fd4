package pbm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/backup/driven"
)

// status is what pbm status --out=json says; see cmd/pbm/status.go.
type status struct {
	Cluster []struct {
		Name  string `json:"rs"`
		Nodes []struct {
			Host   string   `json:"host"`
			Role   string   `json:"role"`
			OK     bool     `json:"ok"`
			Agent  string   `json:"agent"`
			Errors []string `json:"errors"`
		} `json:"nodes"`
	} `json:"cluster"`
	PITR struct {
		Wanted bool   `json:"conf"`
		Runs   bool   `json:"run"`
		Error  string `json:"error"`
	} `json:"pitr"`
	Running struct {
		Type string `json:"type"`
	} `json:"running"`
	Backups *struct {
		Snapshot []snapshot `json:"snapshot"`
		Chunks   struct {
			Ranges []stretch `json:"pitrChunks"`
		} `json:"pitrChunks"`
	} `json:"backups"`
}

// stretch is a part of the oplog that is kept whole.
type stretch struct {
	Range struct {
		Start int64 `json:"start"`
		End   int64 `json:"end"`
	} `json:"range"`
}

type snapshot struct {
	Name      string `json:"name"`
	Size      int64  `json:"size"`
	Status    string `json:"status"`
	Error     string `json:"error"`
	RestoreTo int64  `json:"restoreTo"`
	Type      string `json:"type"`
	Source    string `json:"src"`
}

// arbiter is the role of a member that has no data, and no agent.
const arbiter = "A"

// read reads what pbm status gives.
func read(text []byte) (f driven.Found, err error) {
	var s status
	if err := json.Unmarshal(text, &s); err != nil {
		return f, fmt.Errorf("what pbm status gives is not understood: %w", err)
	}
	if s.Backups == nil {
		return f, errors.New("what pbm status gives does not speak of backups")
	}
	f = driven.Found{Backups: []driven.Taken{}, Running: s.Running.Type == "backup", Wrong: s.wrong()}
	for _, one := range s.Backups.Snapshot {
		if one.Status != "done" {
			continue
		}
		b, err := one.backup()
		if err != nil {
			return f, err
		}
		f.Backups = append(f.Backups, b)
	}
	slices.SortStableFunc(f.Backups, func(a, b driven.Taken) int { return a.Ended.Compare(b.Ended) })
	f.Newest, f.Holes = s.oplog()
	return f, nil
}

// running tells whether the agents are at something.
func running(text []byte) (bool, error) {
	var s status
	if err := json.Unmarshal(text, &s); err != nil {
		return false, fmt.Errorf("what pbm status gives is not understood: %w", err)
	}
	return s.Running.Type != "", nil
}

// wrong says what is not as it should be.
func (s status) wrong() string {
	var all []string
	for _, set := range s.Cluster {
		for _, n := range set.Nodes {
			if !n.OK && n.Role != arbiter {
				all = append(all, strings.TrimSpace("the agent of "+n.Host+" is not well: "+strings.Join(append([]string{n.Agent}, n.Errors...), " ")))
			}
		}
	}
	switch {
	case s.PITR.Error != "":
		all = append(all, "the oplog is not kept: "+s.PITR.Error)
	case s.PITR.Wanted && !s.PITR.Runs:
		all = append(all, "the oplog is not kept, and was asked for")
	}
	newest := snapshot{}
	for _, one := range s.Backups.Snapshot {
		if one.Name > newest.Name { // which is when it began
			newest = one
		}
	}
	if newest.Status == "error" {
		all = append(all, "the last backup, "+newest.Name+", failed: "+newest.Error)
	}
	return strings.Join(strings.Fields(strings.Join(all, "; ")), " ")
}

// backup reads one. Its name is when it began, and what it is restored to is when it ended.
func (s snapshot) backup() (b driven.Taken, err error) {
	b = driven.Taken{Label: s.Name, Type: driven.Full, Needs: s.Source, Bytes: s.Size, Stored: s.Size}
	if b.Began, err = time.Parse(time.RFC3339, s.Name); err != nil {
		return b, fmt.Errorf("a backup is called %.60q", s.Name)
	}
	if s.Type == "incremental" && s.Source != "" {
		b.Type = driven.Incr
	}
	if s.RestoreTo <= 0 || s.RestoreTo > 1<<40 || s.Size < 0 {
		return b, fmt.Errorf("backup %s ended at %d, with %d bytes", s.Name, s.RestoreTo, s.Size)
	}
	b.Ended = time.Unix(s.RestoreTo, 0).UTC()
	return b, nil
}

// mostHoles are told.
const mostHoles = 5

// oplog says up to when the oplog is kept, and between which moments it is not.
func (s status) oplog() (newest string, holes []string) {
	at := func(n int64) string { return time.Unix(n, 0).UTC().Format(time.RFC3339) }
	all := s.Backups.Chunks.Ranges
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.Range.Start, b.Range.Start) })
	for i, r := range all {
		if r.Range.Start <= 0 || r.Range.End > 1<<40 || r.Range.End < r.Range.Start {
			continue
		}
		if i > 0 && r.Range.Start > all[i-1].Range.End+1 && len(holes) < mostHoles {
			holes = append(holes, at(all[i-1].Range.End)+" to "+at(r.Range.Start))
		}
		newest = at(r.Range.End)
	}
	return newest, holes
}
