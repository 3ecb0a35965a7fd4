package point

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// atOnce is how many names a command line holds.
const atOnce = 500

// States implements protect.Surveyor: the snapshots of a dataset are listed, and those of them that are asked for are
// looked at with one command. zfs-fuse does not tell their clones with it, and is asked for each.
func (z ZFS) States(ctx context.Context, h host.Reader, members []protect.Member) []protect.Answer {
	all := make([]protect.Answer, len(members))
	of := map[string][]int{} // by dataset
	for i, m := range members {
		if z.Fuse {
			all[i].MemberState, all[i].Err = z.State(ctx, h, m)
			continue
		}
		dataset, _, _ := strings.Cut(m.Snapshot, "@")
		of[dataset] = append(of[dataset], i)
	}
	for _, dataset := range slices.Sorted(maps.Keys(of)) {
		asked := map[string]bool{}
		for _, i := range of[dataset] {
			asked[members[i].Snapshot] = true
		}
		proofs, err := z.survey(ctx, h, dataset, asked)
		for _, i := range of[dataset] {
			all[i] = answer(members[i], proofs, err)
		}
	}
	z.follow(ctx, h, members, all)
	return all
}

// follow tells of the snapshots that are not under their names what they are named now.
func (z ZFS) follow(ctx context.Context, h host.Reader, members []protect.Member, all []protect.Answer) {
	of := map[string]names{} // by pool
	failed := map[string]error{}
	for i, m := range members {
		if all[i].Err != nil || z.Fuse || !all[i].Gone && !all[i].Other {
			continue
		}
		pool := zfs.PoolOf(m.Snapshot)
		if _, asked := of[pool]; !asked {
			of[pool], failed[pool] = z.names(ctx, h, pool)
		}
		if err := failed[pool]; err != nil {
			all[i] = answer(m, nil, err)
			continue
		}
		all[i].Now = of[pool].of(m)
	}
}

// answer tells of one snapshot by the proofs of all that are there.
func answer(m protect.Member, proofs map[string]zfs.Proof, err error) protect.Answer {
	if err != nil {
		return protect.Answer{MemberState: protect.MemberState{Space: -1}, Err: fmt.Errorf("look at the snapshot %s: %w", m.Snapshot, err)}
	}
	p, there := proofs[m.Snapshot]
	if !there { // its destruction may have begun
		p, there = proofs[m.Snapshot+asideMark]
	}
	if !there {
		return protect.Answer{MemberState: protect.MemberState{Gone: true, Space: -1}}
	}
	return protect.Answer{MemberState: stateBy(p, m)}
}

// survey reads the proofs of those of some snapshots of a dataset that there are.
func (z ZFS) survey(ctx context.Context, h host.Reader, dataset string, asked map[string]bool) (map[string]zfs.Proof, error) {
	out, err := h.Output(ctx, zfs.SnapshotsOf(dataset)...)
	if zfs.Missing(err) { // follow asks whether its pool is there
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	there := slices.DeleteFunc(zfs.Names(out), func(name string) bool { return !asked[strings.TrimSuffix(name, asideMark)] })
	all := map[string]zfs.Proof{}
	for names := range slices.Chunk(there, atOnce) {
		proofs, err := z.proofs(ctx, h.Output, names...)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, proofs)
	}
	return all, nil
}
