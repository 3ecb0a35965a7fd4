package deaths

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/protect/prune"
	"plumb/internal/storage/point"
	"plumb/test/sandbox"
)

// disk is a filesystem of a scene that can be taken away, as when its disk dies, and be brought back.
type disk struct {
	device string
	mounts []string // how it is mounted where, the top first
}

// diskOf looks how a filesystem is mounted.
func diskOf(t testing.TB, top string, below ...string) disk {
	d := disk{device: strings.TrimSpace(sh(t, "findmnt -n -o SOURCE "+top)), mounts: []string{top}}
	for _, at := range below {
		d.mounts = append(d.mounts, "-o subvol="+strings.Trim(sh(t, "findmnt -n -o FSROOT "+at), "/\n")+" "+at)
	}
	return d
}

// lose takes it away.
func (d disk) lose(t testing.TB) Act {
	return func(context.Context, *Hands) error {
		for i := range d.mounts {
			how := strings.Fields(d.mounts[len(d.mounts)-1-i])
			sh(t, "umount "+how[len(how)-1])
		}
		return nil
	}
}

// back brings it back.
func (d disk) back(t testing.TB) Act {
	return func(context.Context, *Hands) error {
		for _, how := range d.mounts {
			sh(t, "mount "+strings.Replace(" "+how, " /", " "+d.device+" /", 1))
		}
		return nil
	}
}

// forget has all points but that of the scene go, as plumb prune POINT --forget does.
func (s *Scene) forget(ctx context.Context, h *Hands) error {
	all, err := h.Keeper.Store.List(ctx, h.Keeper.Do)
	for _, p := range all {
		if p.ID == s.Point.ID || err != nil {
			continue
		}
		var plans []keep.Plan
		if plans, err = h.Prune.Plan(ctx, h.Keeper.Do, prune.Options{Point: p.ID, Forget: true}); err == nil {
			_, err = h.Prune.Carry(ctx, plans[0])
		}
	}
	return err
}

// orphans wants that the snapshots of a point that was forgotten are all still there, and takes them away.
func (s *Scene) orphans(t testing.TB) Act {
	return func(context.Context, *Hands) error {
		left := strings.Fields(sh(t, fmt.Sprintf("cd %s/.plumb-points; ls -d plumb-*.data plumb-*.log | grep -v %s || :", s.Top, s.Point.ID)))
		if len(left) != 2 {
			return fmt.Errorf("of two snapshots there are %q", left)
		}
		for _, name := range left {
			sh(t, fmt.Sprintf("cd %s/.plumb-points; btrfs subvolume delete %s; rm %[2]s.json", s.Top, name))
		}
		return nil
	}
}

// TestEveryDeathOfForget: a point whose disk is gone is forgotten, or known as before, wherever that is killed; none of its snapshots
// is touched.
func TestEveryDeathOfForget(t *testing.T) {
	s := OnBtrfs(t)
	d := diskOf(t, s.Top, s.Plan.Set.Volumes[0].Mountpoint)
	s.Try(t, Verb{Name: "forget", Before: []Act{s.take, d.lose(t)}, Do: s.forget, Next: []Act{s.forget, all(swept, s.forget)}, After: []Act{d.back(t), s.orphans(t), swept}}, 1)
}

// TestForgetIsNoWayRound: what answers, and what is only not mounted as it should be, is not forgotten; nor is what hangs without a word.
func TestForgetIsNoWayRound(t *testing.T) {
	s := OnBtrfs(t)
	h, ctx := s.Alive(), t.Context()
	was := s.World(t)
	refused := func(h *Hands, o prune.Options, want string) {
		t.Helper()
		o.Point = s.Point.ID
		plans, err := h.Prune.Plan(ctx, h.Keeper.Do, o)
		if err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%+v, error %v (%s), want %s", plans, err, hint.Of(err), want)
		}
	}
	refused(h, prune.Options{Forget: true}, "all of the storage of point")
	top := diskOf(t, s.Top)
	must(t, top.lose(t)(ctx, h)) // a subvolume of it is mounted still
	refused(h, prune.Options{}, "but not its top")
	refused(h, prune.Options{Forget: true}, "it is there, mounted on "+s.Plan.Set.Volumes[0].Mountpoint)
	sh(t, "umount "+s.Plan.Set.Volumes[0].Mountpoint)
	refused(h, prune.Options{}, "not mounted for writing anywhere")
	must(t, s.hold(ctx, h))
	refused(h, prune.Options{Forget: true}, "held by "+owner)
	must(t, s.release(ctx, h))
	must(t, top.back(t)(ctx, h))
	sh(t, fmt.Sprintf("mount -o subvol=data %s %s", top.device, s.Plan.Set.Volumes[0].Mountpoint))

	hung := host.NewLiveDoer(host.NewLive(host.LiveOptions{CommandTime: time.Nanosecond}))
	t.Cleanup(func() { hung.Close() })
	slow := s.On(sqlMachine{hung})
	refused(slow, prune.Options{}, "deadline exceeded")
	plans, err := slow.Prune.Plan(ctx, slow.Keeper.Do, prune.Options{Rules: keep.Rules{Last: 1}, AllRight: 1})
	if err != nil || len(plans) != 1 || len(plans[0].Going()) != 0 || !strings.Contains(plans[0].Fates[0].Why[0], "deadline exceeded") {
		t.Errorf("by rules: %+v, %v", plans, err)
	}
	plans, err = slow.Prune.Plan(ctx, slow.Keeper.Do, prune.Options{Point: s.Point.ID, Forget: true})
	must(t, err)
	if left := plans[0].Fates[0].Point.Leaves(); len(left) != 2 || !strings.Contains(left[0].Left, "deadline exceeded") {
		t.Errorf("what hangs would be left as %+v", left)
	}
	if _, err := h.Prune.Carry(ctx, plans[0]); err == nil || !strings.Contains(err.Error(), "answers") {
		t.Errorf("it answers by now, and is forgotten: %v", err)
	}
	if now := s.World(t); now != was {
		t.Errorf("there is\n%s\nand there was\n%s", now, was)
	}
}

// TestForgetHalf: of a point with its ready copy on two disks, one of which is gone, all that is left is destroyed, and the rest is
// there when the disk is back.
func TestForgetHalf(t *testing.T) {
	s := onTwoBtrfs(t)
	h, ctx := s.Alive(), t.Context()
	must(t, s.drill(true)(ctx, h))
	lost := diskOf(t, filepath.Dir(s.Plan.Set.Volumes[1].Mountpoint))
	must(t, lost.lose(t)(ctx, h))
	must(t, h.Keeper.Sweep(ctx))
	plans, err := h.Prune.Plan(ctx, h.Keeper.Do, prune.Options{Point: s.Point.ID, Forget: true})
	must(t, err)
	done, err := h.Prune.Carry(ctx, plans[0])
	must(t, err)
	if len(done) != 1 || !done[0].Gone || len(done[0].Left) != 2 {
		t.Errorf("it came to %+v", done)
	}
	all, err := h.Keeper.Store.List(ctx, h.Keeper.Do)
	if err != nil || len(all) != 0 {
		t.Errorf("written down is %+v, %v", all, err)
	}
	books, err := kinds.Books(h.Keeper.Do, h.Keeper.Books).List(ctx)
	must(t, err)
	for _, book := range books {
		if left := book.All(); len(left) > 0 {
			t.Errorf("in the inventory is %+v", left)
		}
	}
	must(t, swept(ctx, h))
	if left := sh(t, "btrfs subvolume list "+s.Top); strings.Contains(left, "plumb-") || strings.Contains(left, "clone-") {
		t.Errorf("on the disk that is there:\n%s", left)
	}
	must(t, lost.back(t)(ctx, h))
	left := sh(t, "btrfs subvolume list "+lost.mounts[0])
	if strings.Count(left, s.Point.ID) != 2 || strings.Count(left, "clone-") < 1 {
		t.Errorf("on the disk that is back:\n%s", left)
	}
}

// onTwoBtrfs makes a scene whose volumes are subvolumes of two filesystems.
func onTwoBtrfs(t testing.TB) *Scene {
	t.Helper()
	b := box(t)
	s := &Scene{Box: b}
	var vols []protect.Volume
	for _, name := range []string{"data", "log"} {
		top, err := b.Filesystem("fs-"+name, "btrfs", 256, nil, "")
		sandbox.Need(t, err)
		sh(t, fmt.Sprintf("chown 0:0 %[1]s; chmod 755 %[1]s; btrfs subvolume create %[1]s/%[2]s", top, name))
		vols = append(vols, protect.Volume{Storage: "btrfs", Name: "/" + name, Pool: strings.TrimSpace(sh(t, "findmnt -n -o UUID "+top)), Mountpoint: filepath.Join(top, name)})
		if s.Top == "" {
			s.Top = top
		}
	}
	s.storages = []protect.Storage{point.Btrfs{}}
	s.open(t, vols...)
	return s
}
