package replicate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/limited"
	"plumb/internal/protect"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// Prover starts a copy of a point and looks at it. It writes nothing of the point down.
type Prover func(ctx context.Context, p protect.Point) (protect.Drill, error)

const (
	mostPoint = 1 << 20 // bytes of what is told of a point
	mostDrill = 4 << 20 // and of what came of a drill
	drillTime = 70 * time.Minute
)

// Verify has a copy of a point started from what the target received, and notes what came of it. On this host here does
// so; another host has a Plumb of its own.
func (r Replicator) Verify(ctx context.Context, p protect.Point, t Target, here Prover) (*protect.Drill, error) {
	s := &sending{Replicator: r, d: r.Keeper.Do, p: p, t: t}
	drill := s.there
	if t.Host == "" {
		drill = func(ctx context.Context) (protect.Drill, error) { return proven(ctx, s.d.Run, t.Dataset, p, here) }
	}
	d, err := drill(ctx)
	if err == nil {
		err = r.Keeper.Replicated(context.WithoutCancel(ctx), p.ID, protect.Replica{Target: t.String(), Drill: d})
	}
	if err != nil {
		return nil, fmt.Errorf("verify point %s at %s: %w", p.ID, t, err)
	}
	return &d, nil
}

// proven starts a copy of the replica of a point that lies below a dataset of this host.
func proven(ctx context.Context, run func(context.Context, ...string) ([]byte, error), holder string, p protect.Point, prove Prover) (protect.Drill, error) {
	q, err := replica(ctx, run, holder, p)
	if err != nil {
		return protect.Drill{}, err
	}
	return prove(ctx, q)
}

// replica gives a point whose snapshots are those that were received.
func replica(ctx context.Context, run func(context.Context, ...string) ([]byte, error), holder string, p protect.Point) (protect.Point, error) {
	p.State, p.Ready = protect.Taken, nil
	all := p.Members
	p.Members = nil
	for _, m := range all {
		name := replicaOf(holder, m)
		d, err := read(ctx, run, name)
		if err != nil {
			return p, err
		}
		snapshot := name + "@" + protect.SnapshotName(p.ID)
		there, ok := d.of(m.GUID)
		if !ok || there.name != snapshot {
			return p, hint.With(fmt.Errorf("%s is not there, or is another snapshot", snapshot), "send the point again")
		}
		m.Storage = "zfs"
		if _, open := d.values["guid"]; !open {
			m.Storage = "zfs-fuse"
		}
		m.Name, m.Pool, m.Snapshot, m.Birth, m.Part = name, zfs.PoolOf(name), snapshot, fmt.Sprint(there.birth), false
		p.Members = append(p.Members, m)
	}
	return p, nil
}

// replicaOf names the dataset to which one of a point is sent.
func replicaOf(holder string, m protect.Member) string {
	name, _, _ := strings.Cut(m.Snapshot, "@")
	return holder + "/" + strings.ReplaceAll(name, "/", ":")
}

// verify is what is typed at the target. What a copy needs of the point goes along.
func verify(dataset, point string) []string { return []string{"plumb", "prove", point, dataset} }

// there has the target's Plumb start a copy.
func (s *sending) there(ctx context.Context) (d protect.Drill, err error) {
	text, err := json.Marshal(Told(s.p))
	if err != nil {
		return d, err
	}
	out := limited.NewBuffer(mostDrill, errors.New("the answer is too long"))
	argv := s.t.reach(s.SSH, verify(s.t.Dataset, s.p.ID))
	flow, err := s.d.Pipe(ctx, host.Pipe{Argv: argv, In: bytes.NewReader(text), Out: out, Progress: drillTime})
	switch {
	case err != nil && flow.Code == 127:
		return d, hint.With(fmt.Errorf("%s has no plumb: %w", s.t.Host, err), "--verify starts a copy there, which needs a Plumb and the program of the server; sending needs neither")
	case err != nil:
		return d, s.reached(err)
	}
	var a answer
	switch err := json.Unmarshal(out.Bytes(), &a); {
	case err != nil:
		return d, fmt.Errorf("the answer of %s is not understood: %w", s.t.Host, err)
	case a.Refused != "":
		return d, hint.With(fmt.Errorf("%s refused: %s", s.t.Host, a.Refused), a.Hint)
	case a.Drill.At.IsZero():
		return d, fmt.Errorf("%s sent no result of a drill", s.t.Host)
	}
	return a.Drill, nil
}

// Told is what a target is told of a point: what tells a copy what it is, and nothing of how it is run. What is not sure of it goes along:
// of a backup nobody else knows that once the host is gone. It is made one line each, as some quote what a server said.
func Told(p protect.Point) protect.Point {
	sv := p.Server
	sv.Program, sv.Env, sv.Unit, sv.PID, sv.UID, sv.GID = nil, nil, "", 0, 0, 0
	var doubts []string
	for _, d := range p.Doubts[:min(len(p.Doubts), mostDoubts)] {
		doubts = append(doubts, units.Start(strings.Join(strings.FieldsFunc(d, unsaid), " "), longestSay))
	}
	return protect.Point{Form: protect.Form, ID: p.ID, Server: sv, Mode: p.Mode, Label: p.Label, Doubts: doubts, Members: p.Members, Position: p.Position, Files: p.Files, Times: p.Times}
}
