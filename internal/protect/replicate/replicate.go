package replicate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// Replicator sends points.
type Replicator struct {
	Keeper *protect.Keeper
	Fuse   bool     // the ZFS of this host is zfs-fuse
	SSH    []string // options for ssh, such as -i FILE
}

// Options say how a point is sent.
type Options struct {
	// Decrypted sends encrypted datasets in the clear; otherwise they go raw, and the target needs no key.
	// It counts for the first point of a dataset. Later it must be the same.
	Decrypted bool
}

// Result is what came of sending a point.
type Result struct {
	Point   string        `json:"point"`
	Target  string        `json:"target"`
	Sent    []Sent        `json:"sent"`
	At      time.Time     `json:"at"`
	Took    time.Duration `json:"took_ns"`
	Resumed bool          `json:"resumed,omitempty"` // a half-received stream was completed
	Doubt   string        `json:"doubt,omitempty"`   // why what was sent protects less than it seems to

	Verified *protect.Drill `json:"verified,omitempty"` // what came of a copy that the target started
}

// Sent is what came of sending one dataset.
type Sent struct {
	Snapshot string `json:"snapshot"`       // that was sent
	Dataset  string `json:"dataset"`        // of the target
	Base     string `json:"base,omitempty"` // snapshot or bookmark since which changes were sent; "" for all
	Way      string `json:"way"`            // plain, compressed or raw
	Bytes    int64  `json:"bytes"`          // that went over
	There    bool   `json:"there,omitempty"`
}

// sending is a point on its way.
type sending struct {
	Replicator
	d         host.Streamer
	p         protect.Point
	t         Target
	o         Options
	result    Result
	fresh     bool              // this run began to hold the point
	begun     bool              // a part of the dataset's snapshot was sent
	theirFuse bool              // the ZFS of the target is zfs-fuse
	holder    map[string]string // what the dataset that holds the replicas says of itself
	guid      string            // of that dataset; "" from zfs-fuse
}

// Run sends a point to a target. With an error, the result says how far it came.
func (r Replicator) Run(ctx context.Context, p protect.Point, t Target, o Options) (Result, error) {
	began := r.Keeper.Now()
	s := &sending{Replicator: r, d: r.Keeper.Do, p: p, t: t, o: o, result: Result{Point: p.ID, Target: t.String(), At: began.UTC()}}
	err := s.run(ctx)
	s.result.Took = r.Keeper.Now().Sub(began)
	if err != nil {
		err = fmt.Errorf("send point %s to %s: %w", p.ID, t, err)
	}
	if errors.Is(err, host.ErrDenied) && hint.Of(err) == "" {
		err = hint.With(err, rightsOfUser)
	}
	return s.result, err
}

const rightsOfUser = "a user other than root needs: zfs allow -u USER send,bookmark,destroy here, and receive,create,mount,userprop at the target (plumb replicate --grants)"

// file is where what came of the last sending to a target is written, beside the points.
func (s *sending) file(ending string) string {
	sum := sha256.Sum256([]byte(s.t.String()))
	return path.Join(s.Keeper.Store.Dir, "replicas", hex.EncodeToString(sum[:8])+ending)
}

func (s *sending) run(ctx context.Context) error {
	if err := s.possible(); err != nil {
		return err
	}
	unlock, err := s.d.Lock(ctx, s.file(".lock"))
	if err != nil {
		return host.HeldBy(err, "another Plumb is sending to it", "wait until it has ended")
	}
	defer unlock()
	if err := s.Keeper.Change(ctx, s.p.ID, s.hold); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		if s.fresh {
			err = errors.Join(err, s.letGo(ctx, s.p.ID))
		}
		return err
	}
	s.result.Doubt = s.doubt(ctx)
	for i, m := range s.p.Snapshots() {
		s.begun = false
		if err := s.send(ctx, m); err != nil {
			return s.stopped(ctx, i, err)
		}
	}
	return s.finish(ctx)
}

// stopped ends a run that failed at a dataset. While the next can go on with what came of it, the point stays held. Otherwise it is let
// go: of a target that takes nothing any more each run would keep another point, until the pool is full. The base of the next
// stream is a bookmark, but for zfs-fuse.
func (s *sending) stopped(ctx context.Context, dataset int, err error) error {
	if s.fresh && !s.begun && (dataset == 0 || !s.Fuse) {
		err = errors.Join(err, s.letGo(ctx, s.p.ID))
	}
	return err
}

// possible refuses what can be refused without asking anybody.
func (s *sending) possible() error {
	if err := s.p.Whole(); err != nil {
		return err
	}
	if len(s.p.Members) == 0 {
		return errors.New("it has no snapshots")
	}
	for _, m := range s.p.Members {
		dataset, _, ok := strings.Cut(m.Snapshot, "@")
		switch {
		case m.Storage != "zfs" && m.Storage != "zfs-fuse" || !ok:
			return hint.With(fmt.Errorf("%s is on %s", m.Name, m.Storage), "only points on ZFS are sent")
		case !plain.MatchString(strings.Replace(m.Snapshot, "@", "/", 1)):
			return hint.With(fmt.Errorf("%q is a name that is not sent: use letters, digits and _.:-", m.Snapshot), "zfs rename gives the dataset another; then take a new point")
		case s.t.Host == "" && (zfs.Within(dataset, s.t.Dataset) || zfs.Within(s.t.Dataset, dataset)):
			return hint.With(fmt.Errorf("%s and the target are one below the other", dataset), "name another dataset, of another pool")
		}
	}
	return nil
}

func (s *sending) mine(h protect.Hold) bool { return h.Owner == s.t.Owner() }

func (s *sending) hold(p *protect.Point) {
	if s.fresh = !slices.ContainsFunc(p.Holds, s.mine); s.fresh {
		p.Holds = append(p.Holds, protect.Hold{Owner: s.t.Owner(), Since: s.Keeper.Now().UTC()})
	}
}

func (s *sending) letGo(ctx context.Context, id string) error {
	return s.Keeper.Change(context.WithoutCancel(ctx), id, func(p *protect.Point) { p.Holds = slices.DeleteFunc(p.Holds, s.mine) })
}

// letGoAll gives up what this target holds of the server. Points of other servers that are sent there are still needed: one may be on
// its way. zfs-fuse has no bookmarks: there this point stays the base of the next, and only older ones go.
func (s *sending) letGoAll(ctx context.Context) error {
	all, err := s.Keeper.Store.List(ctx, s.d)
	for _, p := range all {
		if s.lets(p) {
			err = errors.Join(err, s.letGo(ctx, p.ID))
		}
	}
	return err
}

// lets tells whether the target needs a point no more, now that this one came whole.
func (s *sending) lets(p protect.Point) bool {
	of, now := p.Server, s.p.Server
	same := of.Ref == now.Ref || of.Identity != "" && of.Identity == now.Identity // under its old name, too
	return same && slices.ContainsFunc(p.Holds, s.mine) && (!s.Fuse || p.ID < s.p.ID)
}

// at runs a command at the target.
func (s *sending) at(ctx context.Context, words ...string) ([]byte, error) {
	out, err := s.d.Run(ctx, s.t.reach(s.SSH, words)...)
	return out, s.reached(err)
}

// reached tells an error of SSH itself from one of the command that it runs.
func (s *sending) reached(err error) error {
	if err != nil && s.t.Host != "" && strings.Contains(err.Error(), "exit status 255") {
		err = hint.With(fmt.Errorf("%s cannot be reached: %w", s.t.Host, err), "ssh "+s.t.Host+" must work without a password, for the user who runs plumb")
	}
	return err
}

// open looks at the dataset that holds the replicas, and makes it when it is missing.
func (s *sending) open(ctx context.Context) error {
	if err := s.readHolder(ctx); !zfs.Missing(err) {
		return err
	}
	if _, err := s.at(ctx, holder(s.t.Dataset)...); err != nil {
		return err
	}
	return s.readHolder(ctx)
}

// readHolder reads the marks of the dataset that holds the replicas, which must be ours.
func (s *sending) readHolder(ctx context.Context) error {
	out, err := s.at(ctx, zfs.Properties(s.t.Dataset)...)
	if err != nil {
		return err
	}
	all := zfs.ParseProperties(out)
	s.holder, s.theirFuse = map[string]string{}, zfs.IsFuse(all)
	for _, p := range all {
		if p.Of == s.t.Dataset && p.Source == "local" {
			s.holder[p.Name] = p.Value
		}
	}
	s.guid = guidOf(all, s.t.Dataset)
	if s.holder[ourMark] != "1" {
		return hint.With(fmt.Errorf("the dataset %s was not made by plumb replicate", s.t.Dataset), "name one that does not exist yet: it is made")
	}
	return nil
}

func guidOf(all []zfs.Property, dataset string) string {
	for _, p := range all {
		if p.Of == dataset && p.Name == "guid" {
			return p.Value
		}
	}
	return ""
}

// doubt tells that the target is lost with the source: it lies in a pool of the source's.
func (s *sending) doubt(ctx context.Context) string {
	pool := zfs.PoolOf(s.t.Dataset)
	same := slices.ContainsFunc(s.p.Members, func(m protect.Member) bool { return zfs.PoolOf(m.Snapshot) == pool })
	if !same || !s.here(ctx) {
		return ""
	}
	return "the target is in the pool " + pool + ", like the source: if that pool is lost, both are"
}

// here tells whether the target is this host, also where SSH leads back to it: then its dataset has the GUID of one of this host.
func (s *sending) here(ctx context.Context) bool {
	if s.t.Host == "" {
		return true
	}
	out, err := s.d.Run(ctx, zfs.Properties(s.t.Dataset)...)
	return err == nil && s.guid != "" && guidOf(zfs.ParseProperties(out), s.t.Dataset) == s.guid
}

// finish notes that all came whole.
func (s *sending) finish(ctx context.Context) error {
	if s.holder[lastMark] != s.p.ID {
		if _, err := s.at(ctx, setLast(s.t.Dataset, s.p.ID)...); err != nil {
			return err
		}
	}
	if err := protect.WriteKept(ctx, s.d, s.file(".json"), s.result, 0o600); err != nil {
		return err
	}
	return s.letGoAll(ctx)
}
