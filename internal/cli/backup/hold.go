package backup

import (
	"context"
	"slices"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/store"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// hold keeps a point from being pruned while it is sent, which can take hours, until release is called. It also releases the points that
// killed runs held for the same stores. If it cannot, the backup is made without it.
func (v *verbs) hold(ctx context.Context, d *host.LiveDoer, o asked, job backup.Job, to []store.Store) (release func()) {
	if job.Point == "" {
		return func() {}
	}
	k := &protect.Keeper{Do: d, Store: protect.Store{Dir: o.points, Guard: host.Guarded}, Now: time.Now}
	owner := "backup " + store.URLs(to)
	all, _ := k.Store.List(ctx, d) // files that cannot be read are reported by the commands for points
	for _, p := range all {
		if p.ID != job.Point && p.Server.Ref.String() == job.Server && slices.ContainsFunc(p.Holds, func(h protect.Hold) bool { return h.Owner == owner }) {
			v.Warn("let go of a point that a killed backup held", k.Release(ctx, p.ID, owner))
		}
	}
	if err := k.Hold(ctx, job.Point, owner); err != nil {
		v.Warn("keep the point from being pruned while it is sent", err)
		return func() {}
	}
	return func() { v.Warn("let go of the point", k.Release(context.WithoutCancel(ctx), job.Point, owner)) }
}
