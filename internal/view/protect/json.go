package protect

import (
	"strings"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/prune"
	"plumb/internal/view/page"
)

// SnapshotJSON is version 1 of what snapshot --json prints.
type SnapshotJSON struct {
	Plumb   int            `json:"plumb"`
	Kind    string         `json:"kind"`                       // "snapshot"
	DryRun  bool           `json:"dry_run"`                    // nothing was done
	Server  protect.Server `json:"server"`                     // of which the point is
	Set     protect.Set    `json:"set"`                        // what it keeps data on
	Modes   []protect.Mode `json:"modes"`                      // cheapest correct first
	Mode    string         `json:"mode,omitempty"`             // the one that is taken, or would be
	Refused string         `json:"refused,omitempty"`          // why no point can be taken
	Point   *protect.Point `json:"point,omitempty"`            // that was taken
	Fell    string         `json:"downgrade_reason,omitempty"` // why it is less than its mode promises
}

// DrillJSON is version 1 of what drill --json prints.
type DrillJSON struct {
	Plumb int           `json:"plumb"`
	Kind  string        `json:"kind"`  // "drill"
	Point protect.Point `json:"point"` // with the drill
}

// PointsJSON is version 1 of what protect list --json prints.
type PointsJSON struct {
	Plumb     int             `json:"plumb"`
	Kind      string          `json:"kind"`      // "points"
	Directory string          `json:"directory"` // where they are written down
	Points    []protect.Point `json:"points"`    // oldest first
	Lost      []GoneJSON      `json:"lost,omitempty"`
	Foreign   []ForeignJSON   `json:"foreign,omitempty"`
	Unread    []string        `json:"unread,omitempty"`
}

// GoneJSON is a point of which no copy can be started now: it does not count.
type GoneJSON struct {
	Point string `json:"point"`
	Gone  bool   `json:"gone"` // its snapshots are not there; otherwise it is not known
	Why   string `json:"why"`
}

// ForeignJSON is a snapshot that others took. How, is not known; Plumb never destroys it.
type ForeignJSON struct {
	Snapshot string    `json:"snapshot"`
	GUID     string    `json:"guid"`
	By       string    `json:"by"` // as its name says; "" for nobody known
	At       time.Time `json:"at"`
}

// ClonesJSON is version 1 of what clone --json and clone list --json print.
type ClonesJSON struct {
	Plumb  int         `json:"plumb"`
	Kind   string      `json:"kind"` // "clones"
	Clones []CloneJSON `json:"clones"`
	Unread []string    `json:"unread,omitempty"`
}

// CloneJSON is one running copy of a point. The statements of its mask are not in it.
type CloneJSON struct {
	Name    string        `json:"name"`
	State   string        `json:"state"` // making, made, ended (its server does not run, or its files are no longer mounted), refreshing, dropping
	Point   string        `json:"point"` // ID
	Purpose string        `json:"purpose"`
	Product string        `json:"product"`
	Since   time.Time     `json:"since"`
	Dir     string        `json:"dir"`
	Run     string        `json:"run"` // with its socket, configuration and log; "" when no server runs on it
	Port    int           `json:"port,omitempty"`
	PID     int           `json:"pid,omitempty"`           // with which it was started
	Memory  int64         `json:"memory"`                  // that was asked for
	Masked  bool          `json:"masked"`                  // statements ran before it listened
	Ready   time.Duration `json:"ready_ns"`                // from the request to its first answer
	Follows string        `json:"follows,omitempty"`       // how a replica followed its source when it was made
	Astray  bool          `json:"not_following,omitempty"` // it did not follow it

	Limits []protect.Limit `json:"limits,omitempty"` // of what its server can take from all else
}

// PruneJSON is version 1 of what prune --json prints.
type PruneJSON struct {
	Plumb     int           `json:"plumb"`
	Kind      string        `json:"kind"` // "prune"
	DryRun    bool          `json:"dry_run"`
	Keep      string        `json:"keep"`                // the rules
	Servers   []ServerPrune `json:"servers"`             //
	Destroyed []string      `json:"destroyed"`           // IDs of points
	Dropped   []string      `json:"dropped,omitempty"`   // and of those of which nothing was there but the record
	Forgotten []string      `json:"forgotten,omitempty"` // and of those of which some snapshots did not answer, and were left where they are
}

// ServerPrune is what becomes of the points of one server.
type ServerPrune struct {
	Server string       `json:"server"`
	Points []PointFate  `json:"points"` // oldest first
	Brakes []keep.Brake `json:"safety_stops,omitempty"`
}

// PointFate is what becomes of one point.
type PointFate struct {
	ID    string         `json:"id"`
	Label string         `json:"label"`
	Goes  bool           `json:"goes"`
	Why   []string       `json:"why"`
	Space int64          `json:"space"` // bytes that only it keeps; -1 when not known
	Left  []LeftSnapshot `json:"left,omitempty"`
}

// LeftSnapshot is one that is not destroyed when its point goes, and is on no list any more.
type LeftSnapshot struct {
	Snapshot string `json:"snapshot"` // its name, or that of the volume when it may never have been made
	Why      string `json:"why"`      // what was learned in place of its state
}

// StatusJSON is version 1 of what protect status --json prints.
type StatusJSON struct {
	Plumb   int                `json:"plumb"`
	Kind    string             `json:"kind"` // "protect-status"
	At      time.Time          `json:"at"`
	Policy  string             `json:"policy,omitempty"` // its file; "" without one
	LastRun *time.Time         `json:"last_run,omitempty"`
	Met     bool               `json:"met"` // nothing is missing; true without a policy
	Servers []ServerStatusJSON `json:"servers"`
	Unmet   []policy.Unmet     `json:"unmet,omitempty"` // of the host as a whole
	Foreign []policy.Foreign   `json:"foreign,omitempty"`
}

// ServerStatusJSON says how the points of one server stand.
type ServerStatusJSON struct {
	Server  string         `json:"server"`
	Asked   bool           `json:"asked"`          // the policy is about it
	Runs    bool           `json:"runs"`           // it was seen
	Points  int            `json:"points"`         // whole ones, whose snapshots are there
	Unasked int            `json:"unchecked"`      // others, of which nobody said how to look whether their snapshots are there
	Lost    string         `json:"lost,omitempty"` // a point that is not among them, and why
	Newest  *policy.Aged   `json:"newest,omitempty"`
	Proven  *policy.Aged   `json:"proven,omitempty"` // the newest that is proven
	Space   int64          `json:"space"`            // bytes that its points keep alone, at least; -1 when not known
	Targets []policy.Sent  `json:"targets,omitempty"`
	Backups []policy.Sent  `json:"backups,omitempty"`
	Prune   []ServerPrune  `json:"prune,omitempty"` // what the next prune would do
	Unmet   []policy.Unmet `json:"unmet,omitempty"`
}

// RunJSON is version 1 of what protect run --json prints.
type RunJSON struct {
	Plumb  int              `json:"plumb"`
	Kind   string           `json:"kind"` // "protect-run"
	DryRun bool             `json:"dry_run"`
	Policy string           `json:"policy"` // its file
	Busy   bool             `json:"busy"`   // another run was in progress: nothing was done
	Done   []policy.Outcome `json:"done"`   // of a dry run: what is due
}

// StatusDocument is the document of a status.
func StatusDocument(s policy.Status) StatusJSON {
	doc := StatusJSON{Plumb: 1, Kind: "protect-status", At: s.At, Policy: s.Policy, Met: s.Met(), Servers: []ServerStatusJSON{}, Unmet: s.Unmet, Foreign: s.Foreign}
	if !s.LastRun.IsZero() {
		doc.LastRun = &s.LastRun
	}
	for _, v := range s.Servers {
		doc.Servers = append(doc.Servers, ServerStatusJSON{Server: v.Server.String(), Asked: v.Rule != nil, Runs: v.Runs, Points: v.Points, Unasked: v.Unasked, Lost: v.Lost, Newest: v.Newest,
			Proven: v.Proven, Space: v.Space, Targets: v.Targets, Backups: v.Backups, Prune: ServerPrunes(v.Prune), Unmet: v.Unmet})
	}
	return doc
}

// Due makes a report of what is due.
func Due(acts []policy.Act) (r policy.Report) {
	for _, a := range acts {
		r.Done = append(r.Done, policy.Outcome{Act: a})
	}
	return r
}

// RunDocument is the document of a run of a policy.
func RunDocument(file string, dryRun bool, r policy.Report) RunJSON {
	return RunJSON{Plumb: 1, Kind: "protect-run", DryRun: dryRun, Policy: file, Busy: r.Busy, Done: page.NotNil(r.Done)}
}

// PlanDocument is the document of a dry run.
func PlanDocument(p protect.Plan, mode string, refused error) SnapshotJSON {
	doc := SnapshotJSON{Plumb: 1, Kind: "snapshot", DryRun: true, Server: p.Server, Set: p.Set, Mode: mode}
	for _, m := range p.Modes {
		m.Statements = page.NotNil(m.Statements)
		doc.Modes = append(doc.Modes, m)
	}
	doc.Modes, doc.Set.Volumes, doc.Server = page.NotNil(doc.Modes), page.NotNil(doc.Set.Volumes), shown(p.Server)
	if refused != nil {
		doc.Refused = refused.Error()
	}
	return doc
}

// SnapshotDocument is the document of a point that was taken.
func SnapshotDocument(p protect.Plan, at protect.Point) SnapshotJSON {
	doc := PlanDocument(p, at.Mode, nil)
	at = whole(at)
	doc.DryRun, doc.Point, doc.Fell = false, &at, at.Fell()
	return doc
}

// DrillDocument is the document of a point that was drilled.
func DrillDocument(p protect.Point) DrillJSON {
	return DrillJSON{Plumb: 1, Kind: "drill", Point: whole(p)}
}

// PointsDocument is the document of all points.
func PointsDocument(dir string, all []protect.Point, facts map[string]keep.Facts, others []protect.Foreign, unread error) PointsJSON {
	doc := PointsJSON{Plumb: 1, Kind: "points", Directory: dir, Points: []protect.Point{}, Unread: lines(unread)}
	for _, p := range all {
		doc.Points = append(doc.Points, whole(p))
		known := facts[p.ID]
		if why := known.Unusable(); why != "" {
			doc.Lost = append(doc.Lost, GoneJSON{Point: p.ID, Gone: known.Lost() != "", Why: why})
		}
	}
	for _, f := range others {
		_, name, _ := strings.Cut(f.Snapshot, "@")
		doc.Foreign = append(doc.Foreign, ForeignJSON{Snapshot: f.Snapshot, GUID: f.GUID, By: policy.By(name), At: f.At})
	}
	return doc
}

// whole gives a point as its document has it: lists are lists. What a copy needs
// besides the data is in the file of the point, and of no use to a reader.
func whole(p protect.Point) protect.Point {
	p.Members, p.Server, p.Files = page.NotNil(p.Members), shown(p.Server), nil
	if p.Drill != nil {
		d := *p.Drill
		d.Checks = page.NotNil(d.Checks)
		p.Drill = &d
	}
	return p
}

func shown(s protect.Server) protect.Server {
	s.Dirs, s.Program, s.Env = page.NotNil(s.Dirs), page.NotNil(s.Program), nil
	return s
}

// ClonesDocument is the document of clones.
func ClonesDocument(all []clone.Clone, unread error) ClonesJSON {
	doc := ClonesJSON{Plumb: 1, Kind: "clones", Clones: []CloneJSON{}, Unread: lines(unread)}
	for _, c := range all {
		doc.Clones = append(doc.Clones, CloneJSON{Name: c.Name, State: string(c.State), Point: c.Point, Purpose: string(c.Purpose), Product: c.Product,
			Since: c.Since, Dir: c.Dir, Run: c.Run, Port: c.Port, PID: c.PID, Memory: c.Memory, Masked: len(c.Masks) > 0, Ready: c.Ready, Follows: c.Follows, Astray: c.Astray, Limits: c.Limits})
	}
	return doc
}

// PruneDocument is the document of a prune.
func PruneDocument(plans []keep.Plan, rules keep.Rules, dryRun bool, done []prune.Outcome) PruneJSON {
	destroyed, dropped, forgotten := came(done)
	return PruneJSON{Plumb: 1, Kind: "prune", DryRun: dryRun, Keep: rules.String(), Servers: page.NotNil(ServerPrunes(plans)), Destroyed: page.NotNil(destroyed), Dropped: dropped, Forgotten: forgotten}
}

// ServerPrunes gives what becomes of the points of each server.
func ServerPrunes(plans []keep.Plan) (all []ServerPrune) {
	for _, plan := range plans {
		s := ServerPrune{Server: plan.Server.String(), Points: []PointFate{}, Brakes: plan.Brakes}
		for _, f := range plan.Fates {
			fate := PointFate{ID: f.Point.ID, Label: string(f.Point.Label), Goes: f.Goes, Why: page.NotNil(f.Why), Space: f.Space}
			for _, m := range f.Point.Leaves() {
				fate.Left = append(fate.Left, LeftSnapshot{Snapshot: leftName(m), Why: m.Left})
			}
			s.Points = append(s.Points, fate)
		}
		all = append(all, s)
	}
	return all
}
