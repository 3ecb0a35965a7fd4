package volume

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/chroot"
	"plumb/internal/lab/experiment"
)

// modelStep does what is asked as far as the limits in force let it.
func modelStep(r *regulator, dt, wantRead, wantWrite, size float64) (did paces) {
	l := r.limits()
	cut := func(want, io, by float64) float64 {
		if io > 0 {
			want = min(want, io)
		}
		if by > 0 {
			want = min(want, by/size)
		}
		return want
	}
	did.readIOPS, did.writeIOPS = cut(wantRead, l.readIOPS, l.readBytes), cut(wantWrite, l.writeIOPS, l.writeBytes)
	did.readBytes, did.writeBytes = did.readIOPS*size, did.writeIOPS*size
	r.step(did, dt)
	return did
}

func profile(t *testing.T, text string) experiment.Profile {
	t.Helper()
	p, err := experiment.ParseProfile(text)
	must(t, err)
	return p
}

func TestReadsAndWritesTogetherStayWithinTheLimit(t *testing.T) {
	const many = 1e6
	for _, c := range []struct {
		name        string
		read, write float64 // wanted
		bound       bool    // writes are a part of the reads: each thread does both
		want        float64 // together
	}{
		{"reads", many, 0, false, 1000},
		{"writes", 0, many, false, 1000},
		{"both", many, many, false, 1000},
		{"few writes", many, 50, false, 1000},
		{"less than allowed", 300, 400, false, 700},
		{"two for three", many, 2. / 3, true, 1000},
		{"one for nine", many, 1. / 9, true, 1000},
	} {
		r := newRegulator(profile(t, "iops=1000,mbps=100"))
		done, last := 0.0, 0.0
		for i := range 300 {
			read, write := c.read, c.write
			if c.bound {
				l := r.limits()
				read = min(l.readIOPS, l.writeIOPS/c.write)
				write = read * c.write
			}
			did := modelStep(r, 0.1, read, write, 4096)
			done += (did.readIOPS + did.writeIOPS) * 0.1
			if i >= 200 {
				last += (did.readIOPS + did.writeIOPS) / 100
			}
		}
		if math.Abs(last/c.want-1) > 0.02 || done/30 > c.want*1.02 || done/30 < c.want*0.95 {
			t.Errorf("%s: %.0f a second in all, %.0f in the end, want %.0f", c.name, done/30, last, c.want)
		}
	}
}

// TestFewRequestsReachTheirLimit models that the kernel lets whole requests
// through each tenth of a second. Writes begin where reads end, and the other way round.
func TestFewRequestsReachTheirLimit(t *testing.T) {
	for _, total := range []float64{100, 200, 330, 1100} {
		r := newRegulator(experiment.Profile{IOPS: experiment.Pace{Both: total}})
		for i, wants := range [][2]float64{{1, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 1}} {
			done := 0.0
			const skipped, counted = 20, 90 // tenths of a second
			for n := range skipped + counted {
				l := r.limits()
				did := paces{readIOPS: math.Floor(l.readIOPS/10) * 10 * wants[0], writeIOPS: math.Floor(l.writeIOPS/10) * 10 * wants[1]}
				r.step(did, 0.1)
				if n >= skipped {
					done += (did.readIOPS + did.writeIOPS) / counted
				}
			}
			if math.Abs(done/total-1) > 0.03 {
				t.Errorf("%g a second, phase %d: %.1f", total, i, done)
			}
		}
	}
}

func TestCreditsAreSpentAndComeBack(t *testing.T) {
	r := newRegulator(profile(t, "gp2,size=100G,credits=1%")) // 54000 credits, 300 come a second: 20 s of 3000
	end := 0.0
	for i := range 400 {
		did := modelStep(r, 0.1, 1e6, 0, 4096)
		if did.readIOPS > 2000 {
			end = float64(i+1) / 10
		}
	}
	if math.Abs(end-20) > 0.5 {
		t.Errorf("the burst ended after %.1f s, not 20", end)
	}
	if did := modelStep(r, 0.1, 1e6, 0, 4096); math.Abs(did.readIOPS-300) > 15 {
		t.Errorf("%.0f IOPS without credits", did.readIOPS)
	}
	for range 600 { // a minute of rest: 18000 credits
		modelStep(r, 0.1, 0, 0, 4096)
	}
	if math.Abs(r.credits.level-18000) > 300 {
		t.Errorf("%.0f credits after a minute", r.credits.level)
	}
	if did := modelStep(r, 0.1, 1e6, 0, 4096); did.readIOPS < 1500 {
		t.Errorf("%.0f IOPS with credits again", did.readIOPS)
	}
}

// TestADipComesAndGoes: for the last two of every ten seconds half is allowed.
func TestADipComesAndGoes(t *testing.T) {
	r := newRegulator(profile(t, "iops=1000,mbps=100,dip=10s/2s/50%"))
	var high, low float64
	for i := range 400 {
		did := modelStep(r, 0.1, 1e6, 0, 4096).readIOPS / 400
		if i%100 < 80 {
			high += did / 0.8
		} else {
			low += did / 0.2
		}
	}
	if math.Abs(high-1000) > 30 || math.Abs(low-500) > 60 {
		t.Errorf("%.0f a second and %.0f while it dips, want 1000 and 500", high, low)
	}
	if ph := phases(r.p); ph[0].profile.Dip != nil {
		t.Error("a dip is measured as the limit")
	}
}

func TestLargeRequestsCostSeveralCredits(t *testing.T) {
	r := newRegulator(profile(t, "gp2,size=100G"))
	before := r.credits.level
	r.step(paces{readIOPS: 100, readBytes: 100 << 20}, 1) // of 1 MiB: four each
	if used := before - r.credits.level; used != 400-300 {
		t.Errorf("%g credits used", used)
	}
	r.credits.level = 0
	if _, by := r.total(); by != 300*(256<<10) {
		t.Errorf("%g bytes a second without credits", by)
	}
}

func TestMeasurementsLeaveOutWhatCannotBeReached(t *testing.T) {
	for text, want := range map[string][]string{
		"iops=1000,mbps=20":   {"read IOPS", "write IOPS", "buffered write IOPS", "read and write IOPS", "read MiB/s", "write MiB/s"},
		"iops=100000,mbps=10": {"read MiB/s", "write MiB/s"},
		"iops=10,mbps=100":    {"read IOPS", "write IOPS", "buffered write IOPS", "read and write IOPS"},
		"riops=100":           {"read IOPS"},
		"wmbps=1":             {"write MiB/s"},
	} {
		var got []string
		for _, m := range measurements(phases(profile(t, text))[0]) {
			got = append(got, m.what)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", text, got)
		}
	}
	ph := phases(profile(t, "gp2,size=100G"))
	if len(ph) != 2 || measurements(ph[0])[0].what != "read IOPS, without credits" || measurements(ph[1])[0].asked != 3000 {
		t.Errorf("%+v", ph)
	}
}

// A loop device of Linux 6.18.
const loopStat = "   39536       92  1167447    15916   639695   147077 35301504   745386        0    85736   796859      268        0 155050240       14   203189    35541\n"

func TestParseStat(t *testing.T) {
	c, err := parseStat([]byte(loopStat))
	if want := (paces{39628, 786772, 1167447 * 512, 35301504 * 512}); err != nil || c != want {
		t.Errorf("%+v %v", c, err)
	}
	for _, bad := range []string{"", "1 2 3", "a b c d e f g h i j k"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(loopStat))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := parseStat(data); err == nil && (c.readIOPS < 0 || c.writeBytes < 0) {
			t.Fatal(c)
		}
	})
}

func TestGateOfBothVersions(t *testing.T) {
	l := paces{readIOPS: 1500.4, writeIOPS: 1499.6, readBytes: 20 << 20}
	one := gate{}.lines("7:0", l)
	if len(one) != 3 || one[0].line != "7:0 1500" || one[1].undo != "7:0 0" || one[2].file != groups+"/blkio/blkio.throttle.read_bps_device" {
		t.Errorf("%+v", one)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
		err   error
	}{
		"version 1": {map[string]string{groups + "/blkio/blkio.throttle.read_iops_device": ""}, nil, nil},
		"version 2": {map[string]string{
			groups + "/cgroup.subtree_control": "cpu io memory\n", "/proc/self/cgroup": "0::/user.slice/a.scope\n",
			groups + "/user.slice/io.max": "", groups + "/plumb-lab-r/io.max": "",
		}, []string{groups + "/user.slice", groups + "/plumb-lab-r"}, nil},
		"without io": {map[string]string{groups + "/cgroup.subtree_control": "cpu memory\n"}, nil, errNoIO},
		"nothing":    {nil, nil, errNoGroups},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			file = filepath.Join(dir, file)
			must(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)))
		}
		g, err := findGate(t.Context(), chroot.New(host.NewLiveDoer(host.NewLive(host.LiveOptions{})), dir), "r")
		if !slices.Equal(g.dirs, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: %v %v", name, g.dirs, err)
		}
	}
	two := gate{[]string{groups + "/a"}}.lines("7:0", l)
	if len(two) != 1 || two[0] != (line{groups + "/a/io.max", "7:0 rbps=20971520 wbps=max riops=1500 wiops=1500", "7:0 rbps=max wbps=max riops=max wiops=max"}) {
		t.Errorf("%+v", two)
	}
}

func FuzzParseOwnGroup(f *testing.F) {
	f.Add([]byte("8:pids:/\n0::/user.slice/user-0.slice\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { parseOwnGroup(data) })
}
