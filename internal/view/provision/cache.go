package provision

import (
	"fmt"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/provision/cache"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// CacheAddition says which device a pool gets, and how that is taken back.
func CacheAddition(a cache.Addition, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Bold, 0, fmt.Sprintf("Pool %s gets a %s: %s, %s.", a.Pool, a.Class, a.Disk.Spec.Path, units.Bytes(a.Disk.Size)))
	if a.Disk.Erases() {
		o.Para(page.Yellow, 0, fmt.Sprintf("What is on it is lost: %s.", strings.Join(a.Disk.On, ", ")))
	} else {
		o.Para(page.Normal, 0, fmt.Sprintf("It is proven to be empty (%s read), and is looked at once more just before.", units.Bytes(a.Disk.Read)))
	}
	for _, n := range a.Notes {
		o.Hang(page.Normal, "  - ", n)
	}
	return o.String()
}

// CacheWarming says what will be read, under which parameters.
func CacheWarming(w cache.Warming, d change.Draft, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Bold, 0, fmt.Sprintf("Every file below %s is read once (%s), for at most %s.", strings.Join(w.Dirs, ", "), units.Bytes(w.Data), length(w.Plan.For)))
	for _, s := range d.Steps {
		o.Hang(page.Normal, "  ", fmt.Sprintf("%s: %s, now %s: %s", s.Knob.Name, catalog.Show(s.Want.Fact, s.To), catalog.Show(s.Want.Fact, s.Now), s.Because))
	}
	for _, r := range d.Refused {
		o.Hang(page.Dim, "  ", fmt.Sprintf("%s is left as it is: %s", r.Knob.Name, r.Reason))
	}
	for _, n := range w.Notes {
		o.Para(page.Yellow, 0, strings.ToUpper(n[:1])+n[1:]+".")
	}
	if len(d.Steps) > 0 {
		o.Para(page.Normal, 0, "The parameters come back when all is read, when the time is over, and when Plumb is killed.")
	}
	return o.String()
}

// CacheJudgement says what the cache devices serve, and what has moved since an earlier look.
func CacheJudgement(now cache.Figures, earlier []cache.Window, screen page.Screen) string {
	o := page.NewPage(screen)
	share := func(label string, e stats.Estimate, none string) {
		if e.N == 0 {
			o.Hang(page.Normal, label, "not known: "+none)
			return
		}
		o.Hang(page.Normal, label, fmt.Sprintf("%s [%s, %s]", units.Percent(e.Value), units.Percent(max(e.Low, 0)), units.Percent(min(e.High, 1))))
	}
	share("served by the cache devices, of what missed the ARC: ", now.Cache, "nothing missed the ARC, so that there was nothing to serve")
	share("went to the data disks, of all reads:                ", now.Disk, "nothing was read")
	if now.Fed.N > 0 {
		o.Hang(page.Normal, "the cache devices are fed:                           ", units.Bytes(int64(now.Fed.Value))+"/s")
	}
	if earlier == nil {
		return o.String()
	}
	before := cache.Measure(earlier)
	moved, known := cache.Moved(before.Disk, now.Disk)
	points := func(v float64) string { return fmt.Sprintf("%+.1f", 100*v) }
	interval := fmt.Sprintf("%s points [%s, %s]", points(moved.Value), points(moved.Low), points(moved.High))
	switch {
	case !known:
		o.Para(page.Yellow, 0, "Whether the share that goes to the data disks has moved is not known: too little was read before or now.")
	case moved.High < 0:
		o.Para(page.Bold, 0, "Fewer reads go to the data disks than before: "+interval+". That is so for the load of now against the load of then; if the load has changed, that may be why.")
	case moved.Low > 0:
		o.Para(page.Bold, 0, "More reads go to the data disks than before: "+interval+".")
	default:
		o.Para(page.Normal, 0, "No difference can be told from chance in the share that goes to the data disks: "+interval+".")
	}
	return o.String()
}

// CacheUnit is a unit that gives a pool its ephemeral cache device at each boot, and warms what is listed in it.
func CacheUnit(program, pool, device string) (string, error) {
	for _, w := range []string{program, pool, device} {
		if strings.ContainsAny(w, "\n\"'\\ %$") {
			return "", fmt.Errorf("a unit cannot name %q", w)
		}
	}
	return fmt.Sprintf(`# /etc/systemd/system/plumb-cache-%s.service
[Unit]
Description=Give pool %[1]s its cache device again, and warm it
After=zfs-import.target zfs-mount.service
ConditionPathExists=%[2]s

[Service]
Type=oneshot
ExecStart=%[3]s provision cache add %[1]s %[2]s --yes
# Name the datasets to warm:
# ExecStart=%[3]s provision cache warm %[1]s %[1]s/DATASET --yes
Nice=10
IOSchedulingClass=idle

[Install]
WantedBy=multi-user.target
`, pool, device, program), nil
}
