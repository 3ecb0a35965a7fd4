package point

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// runs runs a command: Output of a reader, or Run of a doer.
type runs func(ctx context.Context, argv ...string) ([]byte, error)

// Snapshot implements protect.Storage: one command for each pool.
func (z ZFS) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, facts map[string]string) ([]protect.Member, error) {
	var all []protect.Member
	for _, vols := range byPool(vols) {
		names := snapshotNames(vols, name)
		argv := zfs.TakeSnapshots(kept(facts), names...)
		if z.recursive(vols, name) {
			argv = zfs.TakeSnapshotsBelow(kept(facts), above(vols)+"@"+name)
		}
		_, err := d.Run(ctx, argv...)
		if err != nil {
			err = hint.With(fmt.Errorf("snapshot %s: %w", strings.Join(names, " "), err), "a user other than root needs: zfs allow -u USER snapshot,userprop DATASET")
		}
		// Also after an error: a command that we stopped waiting for can have made them.
		late := context.WithoutCancel(ctx)
		members, err2 := z.members(late, d.Run, vols, name)
		all = append(all, members...)
		if err = errors.Join(err, err2); err == nil {
			err = oneMoment(members)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// kept returns the facts that fit into a property. The others are only in the point's file.
func kept(facts map[string]string) map[string]string {
	all := map[string]string{}
	for k, v := range facts {
		if len(v) <= zfs.MaxValue && v != "" {
			all[k] = v
		}
	}
	return all
}

func byPool(vols []protect.Volume) (all [][]protect.Volume) {
	for _, v := range vols {
		i := slices.IndexFunc(all, func(of []protect.Volume) bool { return of[0].Pool == v.Pool })
		if i < 0 {
			i, all = len(all), append(all, nil)
		}
		all[i] = append(all[i], v)
	}
	return all
}

// recursive tells whether the volumes of a pool are snapshotted with everything below the dataset above them: zfs-fuse has no other way to
// take several at one moment.
func (z ZFS) recursive(vols []protect.Volume, name string) bool {
	return z.Fuse && len(snapshotNames(vols, name)) > 1
}

// snapshotNames names the snapshot of each dataset once, as a dataset can be mounted in two places.
func snapshotNames(vols []protect.Volume, name string) (all []string) {
	for _, v := range vols {
		if of := v.Name + "@" + name; !slices.Contains(all, of) {
			all = append(all, of)
		}
	}
	return all
}

// above returns the lowest dataset that is, or is above, each of the volumes. They must be of one pool.
func above(vols []protect.Volume) string {
	at := vols[0].Name
	for _, v := range vols {
		for !zfs.Within(v.Name, at) {
			at = at[:strings.LastIndexByte(at, '/')] // the pool holds them all
		}
	}
	return at
}

// proofs reads the proofs of snapshots by name. It leaves out those that do not exist.
func (z ZFS) proofs(ctx context.Context, run runs, names ...string) (map[string]zfs.Proof, error) {
	out, err := run(ctx, z.tools().Proofs(protect.FactPoint, names...)...)
	if err == nil {
		return zfs.ParseProofs(out)
	}
	if !zfs.Missing(err) || len(names) == 1 {
		if zfs.Missing(err) {
			err = nil
		}
		return nil, err
	}
	all := map[string]zfs.Proof{}
	for _, name := range names {
		one, err := z.proofs(ctx, run, name)
		if err != nil {
			return nil, err
		}
		for name, p := range one {
			all[name] = p
		}
	}
	return all, nil
}

// members returns the snapshots of the volumes that exist under a name.
func (z ZFS) members(ctx context.Context, run runs, vols []protect.Volume, name string) (all []protect.Member, err error) {
	proofs, err := z.proofs(ctx, run, snapshotNames(vols, name)...)
	if err != nil {
		return nil, fmt.Errorf("look for the snapshots named %s: %w", name, err)
	}
	for _, v := range vols {
		if p, ok := proofs[v.Name+"@"+name]; ok && (p.User == "" || strings.HasPrefix(name, protect.SnapshotName(p.User))) {
			all = append(all, protect.Member{Volume: v, Snapshot: v.Name + "@" + name, GUID: p.GUID, Birth: p.Birth})
		}
	}
	return all, nil
}

// oneMoment is an error unless all are of one transaction group.
func oneMoment(all []protect.Member) error {
	for _, m := range all {
		if m.Birth != all[0].Birth {
			return fmt.Errorf("%s is of transaction group %s, and %s of %s: they are not of one moment", all[0].Snapshot, all[0].Birth, m.Snapshot, m.Birth)
		}
	}
	return nil
}

// Find implements protect.Storage. Snapshots of other datasets that zfs-fuse took with them, and that were not destroyed
// yet, come last.
func (z ZFS) Find(ctx context.Context, h host.Reader, vols []protect.Volume, name string) ([]protect.Member, error) {
	var all []protect.Member
	for _, vols := range byPool(vols) {
		members, err := z.members(ctx, h.Output, vols, name)
		if err == nil {
			all = append(all, members...)
			members, err = z.members(ctx, h.Output, vols, name+asideMark)
		}
		if err == nil && len(all)+len(members) == 0 {
			err = imported(ctx, h, vols[0].Pool)
		}
		if err != nil {
			return nil, err
		}
		for _, m := range members { // of these the destruction was begun
			m.Snapshot = strings.TrimSuffix(m.Snapshot, asideMark)
			all = append(all, m)
		}
		if !z.recursive(vols, name) {
			continue
		}
		surplus, err := z.surplus(ctx, h.Output, vols, name)
		if err != nil {
			return nil, err
		}
		all = append(all, surplus...)
	}
	return all, nil
}

// surplus returns the snapshots of other datasets that were taken with those of the volumes. They have the same name, and
// a property that names the point.
func (z ZFS) surplus(ctx context.Context, run runs, vols []protect.Volume, name string) (all []protect.Member, err error) {
	out, err := run(ctx, zfs.SnapshotsBelow(above(vols))...)
	if err != nil {
		return nil, fmt.Errorf("look for the snapshots named %s: %w", name, err)
	}
	own := snapshotNames(vols, name)
	for _, of := range zfs.Names(out) {
		as := strings.TrimSuffix(of, asideMark)
		dataset, found := strings.CutSuffix(as, "@"+name)
		if !found || slices.Contains(own, as) {
			continue
		}
		proofs, err := z.proofs(ctx, run, of)
		if err != nil {
			return nil, err
		}
		if p, ok := proofs[of]; ok && p.User != "" && strings.HasPrefix(name, protect.SnapshotName(p.User)) {
			all = append(all, protect.Member{Volume: protect.Volume{Storage: z.Name(), Name: dataset, Pool: zfs.PoolOf(of)}, Snapshot: as, GUID: p.GUID, Birth: p.Birth})
		}
	}
	return all, nil
}

// Tidy implements protect.Tidier: it destroys the snapshots of other datasets that zfs-fuse took together with the members.
func (z ZFS) Tidy(ctx context.Context, d host.Streamer, members []protect.Member, name string) error {
	var vols []protect.Volume
	for _, m := range members {
		vols = append(vols, m.Volume)
	}
	for _, vols := range byPool(vols) {
		if !z.recursive(vols, name) {
			continue
		}
		all, err := z.surplus(ctx, d.Run, vols, name)
		if err != nil {
			return err
		}
		for _, m := range all { // in a mode with an order each member was taken alone, and so has a moment of its own
			if !slices.ContainsFunc(members, func(of protect.Member) bool { return of.Pool == m.Pool && of.Birth == m.Birth }) {
				return fmt.Errorf("%s is of transaction group %s, and no member of the point is: it is another's", m.Snapshot, m.Birth)
			}
		}
		if err := z.Destroy(ctx, d, all); err != nil {
			return err
		}
	}
	return nil
}

// State implements protect.Storage.
func (z ZFS) State(ctx context.Context, h host.Reader, m protect.Member) (protect.MemberState, error) {
	s, err := z.state(ctx, h.Output, m, m.Snapshot)
	if err == nil && s.Gone { // its destruction may have begun
		s, err = z.state(ctx, h.Output, m, m.Snapshot+asideMark)
	}
	if err == nil && (s.Gone || s.Other) {
		there, unknown := z.names(ctx, h, zfs.PoolOf(m.Snapshot))
		s.Now, err = there.of(m), unknown
	}
	if err != nil {
		return protect.MemberState{Space: -1}, fmt.Errorf("look at the snapshot %s: %w", m.Snapshot, err)
	}
	return s, nil
}

// names holds the names of all snapshots of a pool, by GUID and birth.
type names map[[2]string]string

// of returns the present name of a snapshot, whatever was renamed since it was taken; "" when it is gone.
func (n names) of(m protect.Member) string { return n[[2]string{m.GUID, m.Birth}] }

func (z ZFS) names(ctx context.Context, h host.Reader, pool string) (names, error) {
	if err := imported(ctx, h, pool); err != nil {
		return nil, err
	}
	out, err := h.Output(ctx, z.tools().Identities(pool)...)
	if err != nil {
		return nil, err
	}
	proofs, err := zfs.ParseProofs(out)
	all := names{}
	for name, p := range proofs {
		if strings.Contains(name, "@") {
			all[[2]string{p.GUID, p.Birth}] = name
		}
	}
	return all, err
}

// imported is an error if a pool is not imported: nothing is known of its snapshots then, and they must not be taken to be
// gone.
func imported(ctx context.Context, h host.Reader, pool string) error {
	_, err := h.Output(ctx, zfs.Exists(pool)...)
	if zfs.Missing(err) {
		err = hint.With(fmt.Errorf("the pool %s is not imported, so nothing is known of its snapshots", pool), "zpool import shows the pools that can be imported; one that was imported under another name must get this name back")
	}
	return err
}

// usable is an error unless a snapshot exists under its name and is the one that was taken.
func (z ZFS) usable(ctx context.Context, run runs, m protect.Member) error {
	s, err := z.state(ctx, run, m, m.Snapshot)
	if err == nil {
		err = s.Usable(m)
	}
	return err
}

// state tells what there is under a name, compared with the member.
func (z ZFS) state(ctx context.Context, run runs, m protect.Member, name string) (protect.MemberState, error) {
	all, err := z.proofs(ctx, run, name)
	p, there := all[name]
	if err != nil || !there {
		return protect.MemberState{Gone: err == nil, Space: -1}, err
	}
	s := stateBy(p, m)
	if z.Fuse {
		s.Clones, err = clonesOf(ctx, run, name)
	}
	return s, err
}

// stateBy is the state of a member, given the proof of the snapshot that has its name.
func stateBy(p zfs.Proof, m protect.Member) protect.MemberState {
	return protect.MemberState{Other: p.GUID != m.GUID || p.Birth != m.Birth, Clones: p.Clones, Held: p.Holds > 0, Space: p.Used}
}

func clonesOf(ctx context.Context, run runs, name string) (all []string, err error) {
	out, err := run(ctx, zfs.Origins(zfs.PoolOf(name))...)
	for _, row := range zfs.ParseRows(out, 2) {
		if row[1] == name {
			all = append(all, row[0])
		}
	}
	return all, err
}

// Mark implements protect.Storage.
func (z ZFS) Mark(ctx context.Context, d host.Streamer, m protect.Member, facts map[string]string) error {
	err := z.usable(ctx, d.Run, m)
	for k, v := range kept(facts) {
		if err == nil {
			_, err = d.Run(ctx, zfs.Set(k, v, m.Snapshot)...)
		}
	}
	if err != nil {
		err = fmt.Errorf("write on the snapshot %s: %w", m.Snapshot, err)
	}
	return err
}
