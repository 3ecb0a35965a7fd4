package layout

import (
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/provision/spec"
	"plumb/internal/zfs"
)

// A pool is of the disks that a spec asks for whatever their order; with others, or in another layout, it is refused.
func TestSameDisks(t *testing.T) {
	const status = `  pool: tank
 state: ONLINE
config:

	NAME        STATE     READ WRITE CKSUM
	tank        ONLINE       0     0     0
	  mirror-0  ONLINE       0     0     0
	    d       ONLINE       0     0     0
	    c       ONLINE       0     0     0
	  mirror-1  ONLINE       0     0     0
	    a       ONLINE       0     0     0
	    b       ONLINE       0     0     0
	special
	  mirror-2  ONLINE       0     0     0
	    s       ONLINE       0     0     0
	    t       ONLINE       0     0     0
	logs
	  x         ONLINE       0     0     0
	cache
	  q         ONLINE       0     0     0
	  p         ONLINE       0     0     0

errors: No known data errors
`
	tools := tools{}
	h := hosttest.Map{Outputs: map[string]string{strings.Join(tools.Status("tank"), " "): status}}
	dev := func(names string) []spec.Disk { return disksOf("/dev/" + strings.ReplaceAll(names, " ", " /dev/")) }
	for want, change := range map[string]func(*spec.Pool){
		"": func(*spec.Pool) {},
		"its data are mirror of /dev/a and /dev/b, mirror of /dev/c and /dev/d, not mirror of /dev/a and /dev/b and /dev/c and /dev/d": func(p *spec.Pool) { p.Width = 0 },
		"not raidz1 of /dev/a and /dev/b, raidz1 of /dev/c and /dev/d":                                                                 func(p *spec.Pool) { p.Layout = spec.RAIDZ1 },
		"not /dev/a, /dev/b, /dev/c, /dev/d":                                                                                           func(p *spec.Pool) { p.Layout = spec.Stripe },
		"its special are mirror of /dev/s and /dev/t, not /dev/s":                                                                      func(p *spec.Pool) { p.Special = dev("s") },
		"its logs are /dev/x, not mirror of /dev/x and /dev/y":                                                                         func(p *spec.Pool) { p.Log = dev("x y") },
		"its cache are /dev/p, /dev/q, not none":                                                                                       func(p *spec.Pool) { p.Cache = nil },
	} {
		p := spec.Pool{Name: "tank", Layout: spec.Mirror, Width: 2, Data: dev("a b c d"), Special: dev("s t"), Log: dev("x"), Cache: dev("p q")}
		change(&p)
		err := sameDisks(t.Context(), h, tools, p)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if got := vdevsOf(spec.Pool{Layout: spec.Mirror}); got != nil {
		t.Errorf("of no disks: %+v", got)
	}
	if v := vdevsOf(spec.Pool{Cache: disksOf("p q")}); len(v) != 2 || v[0].class != zfs.ClassCache {
		t.Errorf("%+v", v)
	}
}
