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

// runs is how a command is run: to read only, or not.
type runs func(ctx context.Context, argv ...string) ([]byte, error)

// Snapshot implements protect.Storage: one command for each pool.
func (z ZFS) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, facts map[string]string) ([]protect.Member, error) {
	var all []protect.Member
	for _, vols := range byPool(vols) {
		names := snapshotNames(vols, name)
		argv := zfs.TakeSnapshots(kept(facts), names...)
		if z.Fuse && len(names) > 1 {
			argv = zfs.TakeSnapshotsBelow(kept(facts), above(vols)+"@"+name)
		}
		_, err := d.Run(ctx, argv...)
		if err != nil {
			err = hint.With(fmt.Errorf("snapshot %s: %w", strings.Join(names, " "), err), "a user other than root needs: zfs allow -u USER snapshot,userprop DATASET")
		}
		// With an error, too: a command that was given up can have done it.
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

// kept leaves out what a property cannot hold. It stands in the point's file.
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

// snapshotNames names a snapshot of each dataset once: one can be mounted twice.
func snapshotNames(vols []protect.Volume, name string) (all []string) {
	for _, v := range vols {
		if of := v.Name + "@" + name; !slices.Contains(all, of) {
			all = append(all, of)
		}
	}
	return all
}

// above gives the dataset that holds all volumes of a pool, or is one of them.
func above(vols []protect.Volume) string {
	at := vols[0].Name
	for _, v := range vols {
		for !zfs.Within(v.Name, at) {
			at = at[:strings.LastIndexByte(at, '/')] // the pool holds them all
		}
	}
	return at
}

// proofs reads what is known of snapshots; those that are gone are not among it.
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

// members gives the snapshots of a name that there are.
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

// Find implements protect.Storage. What zfs-fuse took of other datasets and was not destroyed
// yet comes last: then there are more than volumes.
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
		for _, m := range members { // whose destruction was begun
			m.Snapshot = strings.TrimSuffix(m.Snapshot, asideMark)
			all = append(all, m)
		}
		if !z.Fuse || len(snapshotNames(vols, name)) == 1 {
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

// surplus gives the snapshots of other datasets that came about with those of the volumes:
// they have the point's name and say that they are of it.
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

// Tidy implements protect.Tidier: it destroys the snapshots of other datasets that zfs-fuse took, of the moment of the
// members.
func (z ZFS) Tidy(ctx context.Context, d host.Streamer, members []protect.Member, name string) error {
	var vols []protect.Volume
	for _, m := range members {
		vols = append(vols, m.Volume)
	}
	for _, vols := range byPool(vols) {
		if !z.Fuse || len(snapshotNames(vols, name)) == 1 {
			continue
		}
		all, err := z.surplus(ctx, d.Run, vols, name)
		if err != nil {
			return err
		}
		for _, m := range all { // with a protocol of the server's, members are not of one moment: each was taken alone
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

// names are those of all snapshots of a pool, by GUID and birth.
type names map[[2]string]string

// of gives the name of a snapshot, whatever was renamed since it was taken; "" when there is none: only then it is gone.
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

// imported is an error where a pool is not there: the snapshots of one that is not imported
// are unknown, and only those of one that is here can be gone.
func imported(ctx context.Context, h host.Reader, pool string) error {
	_, err := h.Output(ctx, zfs.Exists(pool)...)
	if zfs.Missing(err) {
		err = hint.With(fmt.Errorf("the pool %s is not imported, so nothing is known of its snapshots", pool), "zpool import shows the pools that can be imported; one that was imported under another name must get this one again")
	}
	return err
}

// state tells of what is there under a name now.
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

// stateBy is the state of a snapshot of which a proof is known.
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
	facts = kept(facts)
	s, err := z.state(ctx, d.Run, m, m.Snapshot)
	if err == nil {
		err = s.Usable(m)
	}
	for k, v := range facts {
		if err == nil {
			_, err = d.Run(ctx, zfs.Set(k, v, m.Snapshot)...)
		}
	}
	if err != nil {
		err = fmt.Errorf("write on the snapshot %s: %w", m.Snapshot, err)
	}
	return err
}
