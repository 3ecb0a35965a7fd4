package stack

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// Stack is all that is known of one host at one moment.
type Stack struct {
	TakenAt time.Time `json:"taken_at"`
	Root    bool      `json:"root"`   // whether the reader had root's rights
	Things  []*Thing  `json:"things"` // sorted by Ref
	Roles   []Role    `json:"roles"`  // sorted; each with its Placement once observe has placed it
	Gaps    []Gap     `json:"gaps"`
}

// UnmarshalJSON reads a stack so that it can be used, whoever wrote it: its things are sorted, none is null, and facts
// can be added to each, also to one that had none.
func (s *Stack) UnmarshalJSON(text []byte) error {
	type plain Stack
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	for _, t := range s.Things {
		if t == nil {
			return errors.New("it is damaged: a thing in it is null")
		}
		t.fill()
	}
	slices.SortStableFunc(s.Things, func(a, b *Thing) int { return a.Ref.Compare(b.Ref) })
	return nil
}

// Role says that a server keeps something at a path: data, redo, wal, binlog,
// undo, doublewrite, temporary, tablespace, log, journal, pid.
type Role struct {
	DB   Ref    `json:"db"`
	Name string `json:"name"`
	Path string `json:"path"`          // as the server names it, absolute, in the server's own mount namespace
	PID  int    `json:"pid,omitempty"` // a process that sees the path; 0 when the server is not on this host
	Placement
}

// Placement is where a role's path lies. An unplaced role has a zero
// Filesystem and the stack has a Gap that says why.
type Placement struct {
	Resolved   string `json:"resolved,omitempty"` // path after symbolic links
	Filesystem Ref    `json:"filesystem,omitzero"`
}

// Gap is something that could not be seen, why, and what would help.
type Gap struct {
	Of    Ref      `json:"of,omitzero"`     // the thing it concerns; zero: the host as a whole
	Facts []string `json:"facts,omitempty"` // names of facts and links, "*" for all; a trailing * matches a prefix
	Probe string   `json:"probe"`
	Why   string   `json:"why"`            // "read /etc/mysql/debian.cnf: permission denied"
	Hint  string   `json:"hint,omitempty"` // what a person can do: "run as root"
}

// Observation is what one probe saw.
type Observation struct {
	Things []*Thing
	Roles  []Role
	Gaps   []Gap
}

// New makes the empty thing and adds it to the observation.
func (s *Observation) New(kind, name string) *Thing {
	t := NewThing(kind, name)
	s.Things = append(s.Things, t)
	return t
}

// Gap adds a gap about facts of one thing.
func (s *Observation) Gap(of Ref, why, hint string, facts ...string) {
	s.Gaps = append(s.Gaps, Gap{Of: of, Facts: facts, Why: why, Hint: hint})
}

// Add joins a probe's observation to the stack. Of two probes that report the same
// fact the one added first is believed, so the order of probes is meaningful
// and results do not depend on which goroutine was faster.
func (s *Stack) Add(probe string, obs Observation) {
	for _, t := range obs.Things {
		if have := s.Find(t.Ref); have != nil {
			have.merge(t)
			continue
		}
		i, _ := slices.BinarySearchFunc(s.Things, t.Ref, byRef)
		s.Things = slices.Insert(s.Things, i, t)
	}
	s.Roles = append(s.Roles, obs.Roles...)
	slices.SortStableFunc(s.Roles, func(a, b Role) int {
		return cmp.Or(a.DB.Compare(b.DB), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path))
	})
	for _, g := range obs.Gaps {
		if g.Probe == "" {
			g.Probe = probe
		}
		s.Gaps = append(s.Gaps, g)
	}
}

// Clone copies a stack so that adding to the one leaves the other as it is.
func (s *Stack) Clone() *Stack {
	c := *s
	c.Things = make([]*Thing, len(s.Things))
	for i, t := range s.Things {
		c.Things[i] = t.clone()
	}
	c.Roles, c.Gaps = slices.Clone(s.Roles), slices.Clone(s.Gaps)
	return &c
}

func byRef(t *Thing, r Ref) int { return t.Ref.Compare(r) }

// Find gives the thing with that name, or nil.
func (s *Stack) Find(r Ref) *Thing {
	i, ok := slices.BinarySearchFunc(s.Things, r, byRef)
	if !ok {
		return nil
	}
	return s.Things[i]
}

// OfKind gives all things of a kind, sorted by name.
func (s *Stack) OfKind(kind string) []*Thing {
	var out []*Thing
	for _, t := range s.Things {
		if t.Ref.Kind == kind {
			out = append(out, t)
		}
	}
	return out
}

// Host gives the one thing of kind host, or nil when nothing of the machine
// was seen (a remote server).
func (s *Stack) Host() *Thing {
	if hosts := s.OfKind("host"); len(hosts) > 0 {
		return hosts[0]
	}
	return nil
}

// Hostname gives what the machine calls itself; "" when that was not seen.
func (s *Stack) Hostname() string {
	if h := s.Host(); h != nil {
		return h.Text("hostname")
	}
	return ""
}

// Follow gives the things t links to under name; known is false when the
// link itself is unknown, which is not the same as leading nowhere.
func (s *Stack) Follow(t *Thing, name string) (things []*Thing, known bool) {
	refs, known := t.Links[name]
	for _, r := range refs {
		if to := s.Find(r); to != nil {
			things = append(things, to)
		}
	}
	return things, known
}

// GapFor finds why a fact or link of a thing is not known.
func (s *Stack) GapFor(r Ref, fact string) (Gap, bool) {
	for _, exact := range []bool{true, false} {
		for _, g := range s.Gaps {
			if g.Of == r && g.covers(fact, exact) {
				return g, true
			}
		}
	}
	return Gap{}, false
}

func (g Gap) covers(fact string, exact bool) bool {
	for _, f := range g.Facts {
		prefix, wild := strings.CutSuffix(f, "*")
		if f == fact || !exact && wild && strings.HasPrefix(fact, prefix) {
			return true
		}
	}
	return false
}
