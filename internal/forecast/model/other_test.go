package model

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"plumb/internal/stats"
)

// TestMonitoringRules: seed:pmm-01, 1,000 nodes with 2 million samples a second
// on 24 cores and 128 GB. A check of units: the rules are of the same source.
func TestMonitoringRules(t *testing.T) {
	r := Monitoring{Hosts: 1000, Series: stats.Estimate{Value: 2000, Low: 2000, High: 2000}, Interval: 1}.Predict()
	if v := named(t, r, "samples"); v.Value != 2e6 {
		t.Errorf("%g samples a second", v.Value)
	}
	if v := named(t, r, "cores"); v.Value != 20 || v.High < 24 {
		t.Errorf("%g cores, to %g: the rules say 20, and 24 did", v.Value, v.High)
	}
	if v := named(t, r, "memory"); math.Abs(v.Value/gibibyte-133.3) > 0.1 || v.Low > 128*gibibyte {
		t.Errorf("%g GiB, from %g: the rules say 133, and 128 did", v.Value/gibibyte, v.Low/gibibyte)
	}
	small := Monitoring{Hosts: 3, Interval: 60}.Predict()
	if v := named(t, small, "memory"); v.Value != 2*gibibyte {
		t.Errorf("3 hosts need %g GiB, and 2 are the least", v.Value/gibibyte)
	} else if v.High != 8*gibibyte {
		t.Errorf("3 hosts need up to %g GiB, and PMM's smallest server has 8", v.High/gibibyte)
	}
	if v := named(t, small, "cores"); v.Value != 1 || v.High != 4 {
		t.Errorf("3 hosts need %g cores, to %g, and PMM's smallest server has 4", v.Value, v.High)
	}
	if len(small.Warnings) == 0 {
		t.Error("guessed series are not said to be")
	}
}

// TestDiskOfMonitoring: 33,333 samples a second for 15 days at 1.5 bytes, and for three hours at 6 in the log; of a day
// the log is half as much again.
func TestDiskOfMonitoring(t *testing.T) {
	m := Monitoring{Hosts: 200, Series: stats.Exactly(2500), Interval: 15, Retention: 15}
	const samples = 200 * 2500 / 15.0
	v := named(t, m.Predict(), "disk")
	if want := samples * (1.5*86400*15 + 6*10800); math.Abs(v.Value-want) > 1 {
		t.Errorf("%.4g, want %.4g", v.Value, want)
	}
	if low, high := samples*86400*15, samples*(2.5*86400*15+12*10800)+402653184; math.Abs(v.Low-low) > 1 || math.Abs(v.High-high) > 1 {
		t.Errorf("%.4g to %.4g, want %.4g to %.4g", v.Low, v.High, low, high)
	}
	m.Retention = 1
	if v := named(t, m.Predict(), "disk"); v.Value < 1.49*samples*1.5*86400 {
		t.Errorf("of a day: %.4g", v.Value)
	}
}

func TestMonitoringRefuses(t *testing.T) {
	for _, m := range []Monitoring{{Interval: 15}, {Hosts: 10}} {
		if r := m.Predict(); r.Refusal == nil || r.Refusal.Measure == "" {
			t.Errorf("%+v is not refused", m)
		}
	}
}

// wearing makes daily readings of a drive that wears by a rate with noise.
func wearing(days int, perDay, noise float64, seed uint64) (all []Worn) {
	random := rand.New(rand.NewPCG(seed, 1))
	wear := random.Float64()
	for d := range days {
		all = append(all, Worn{At: day.AddDate(0, 0, d), Percent: math.Floor(wear)})
		wear += perDay * math.Max(0, 1+noise*random.NormFloat64())
	}
	return all
}

// TestWearCovers: the date lies within the interval about as often as it says.
func TestWearCovers(t *testing.T) {
	const perDay, mean = 0.11, 1.0833 // what is cut off below nought raises the mean of the noise
	inside, told := 0, 0
	for seed := range uint64(300) {
		all := wearing(120, perDay, 1, seed)
		r := Wear("nvme0n1", all)
		if r.Refusal != nil {
			t.Fatal(r.Refusal)
		}
		v := r.Values[0]
		start := rand.New(rand.NewPCG(seed, 1)).Float64()
		truth := float64(day.Unix()) + (usedUp-start)/(perDay*mean)*day24
		told++
		if truth >= v.Low && truth <= v.High {
			inside++
		}
		if !(v.Low <= v.Value && v.Value <= v.High) {
			t.Fatalf("%+v", v)
		}
	}
	t.Logf("%d of %d inside", inside, told)
	if part := float64(inside) / float64(told); part < 0.90 {
		t.Errorf("%.0f %% of the dates lie in intervals of 95 %%", 100*part)
	}
}

func TestWearRefuses(t *testing.T) {
	at := func(day0 int, percent float64) Worn { return Worn{At: day.AddDate(0, 0, day0), Percent: percent} }
	for want, all := range map[string][]Worn{
		"at least two readings": {at(0, 3)},
		"less than 14":          {at(0, 3), at(10, 9)},
		"0.0 days":              {at(0, 9), at(30, 3)}, // of the drive that is there now
		"it only falls, from 100 to 97 %: that is what is left": {at(0, 100), at(30, 99), at(50, 99), at(60, 97)},
		"is not a reading":                         {at(0, 9), at(30, math.NaN())},
		"at that pace it lasts at least until 203": {at(0, 5), at(60, 6)},
		"it lasts for more than 30 years":          {at(0, 3), at(490, 3)},
		"it fell 4 times and rose again":           {at(0, 2), at(1, 51), at(30, 4), at(31, 52), at(60, 6), at(61, 53), at(90, 8), at(91, 54), at(120, 10)},
	} {
		r := Wear("sda", all)
		if r.Refusal == nil || r.Refusal.Measure == "" || !strings.Contains(r.Refusal.Why, want) {
			t.Errorf("%s: %+v", want, r.Refusal)
		}
	}
	if r := Wear("sda", []Worn{at(0, 90), at(5, 104)}); r.Refusal != nil || r.Values[0].Value != float64(day.AddDate(0, 0, 5).Unix()) {
		t.Errorf("a drive that is used up: %+v", r)
	}
}

// TestWearOfANewDrive: what was read of the drive before it does not count.
func TestWearOfANewDrive(t *testing.T) {
	at := func(day0 int, percent float64) Worn { return Worn{At: day.AddDate(0, 0, day0), Percent: percent} }
	now := []Worn{at(70, 0), at(160, 2), at(250, 4)}
	r, alone := Wear("sda", append([]Worn{at(0, 50), at(60, 52)}, now...)), Wear("sda", now)
	if r.Refusal != nil || !reflect.DeepEqual(r.Values, alone.Values) {
		t.Errorf("%+v, and of the new drive alone %+v", r, alone)
	}
	if !strings.Contains(strings.Join(r.Warnings, ""), "fell from 52 to 0 %") {
		t.Errorf("that it is another drive is not said: %q", r.Warnings)
	}
}

// TestWearOfAnOlderDrive: one that was worn already does not fall, and is no pace either.
func TestWearOfAnOlderDrive(t *testing.T) {
	at := func(day0 int, percent float64) Worn { return Worn{At: day.AddDate(0, 0, day0), Percent: percent} }
	says := func(all ...Worn) bool {
		return strings.Contains(strings.Join(Wear("sda", all).Warnings, ""), "if the drive was replaced, give only the new one's readings")
	}
	if !says(at(0, 0), at(100, 1), at(200, 2), at(210, 60), at(300, 61)) {
		t.Error("58 % within ten days are not doubted")
	}
	if says(at(0, 0), at(30, 3), at(60, 14), at(90, 17)) || says(at(0, 0), at(400, 40), at(430, 43), at(460, 46)) || says(at(0, 20), at(30, 40)) {
		t.Error("a busy month, a long gap or two readings alone are doubted")
	}
}

// TestWearUsedUpBetween: the day is that of the first reading of 100 %, or one since the reading before.
func TestWearUsedUpBetween(t *testing.T) {
	at := func(day0 int, percent float64) Worn { return Worn{At: day.AddDate(0, 0, day0), Percent: percent} }
	unix := func(day0 int) float64 { return float64(day.AddDate(0, 0, day0).Unix()) }
	if v := Wear("sda", []Worn{at(0, 98), at(60, 100), at(240, 104)}).Values[0]; v.Value != unix(60) || v.Low != unix(0) || v.High != unix(60) {
		t.Errorf("%+v", v)
	}
	if v := Wear("sda", []Worn{at(0, 101), at(240, 104)}).Values[0]; v.Value != unix(0) || !math.IsInf(v.Low, -1) {
		t.Errorf("it was used up before it was read: %+v", v)
	}
}

func TestWearFasterLately(t *testing.T) {
	var all []Worn
	for d := range 120 {
		p := float64(d) * 0.05
		if d > 80 {
			p = 4 + float64(d-80)*0.5
		}
		all = append(all, Worn{At: day.AddDate(0, 0, d), Percent: math.Floor(p)})
	}
	if r := Wear("nvme0n1", all); !strings.Contains(strings.Join(r.Warnings, ""), "faster lately") && r.Values[0].Low > r.Rivals[1].Value {
		t.Errorf("a drive that wears ten times as fast lately: %+v", r)
	}
}

// TestTwoVolumesForetellTheThird on a network that is like the model but not it:
// the rest of an operation waits for processors as well.
func TestTwoVolumesForetellTheThird(t *testing.T) {
	truth := func(iops float64) float64 {
		return Network{Think: 0.002, Stations: []Station{{Demand: 4 / iops}, {Demand: 0.001, Speed: ofCores(4)}}}.Rate(16)
	}
	c := LimitCurve{Clients: 16, Points: []LimitPoint{{IOPS: 2000, Rate: truth(2000)}, {IOPS: 16000, Rate: truth(16000)}}}
	for _, iops := range []float64{1000, 4000, 6000, 8000, 12000} {
		r := c.Predict(iops)
		if r.Refusal != nil {
			t.Fatal(r.Refusal)
		}
		e := r.Values[0].Value/truth(iops) - 1
		t.Logf("%.0f IOPS: %+.1f %%, proportional %+.1f %%", iops, 100*e, 100*(r.Rivals[2].Value/truth(iops)-1))
		if math.Abs(e) > 0.15 {
			t.Errorf("%.0f IOPS are off by %.0f %%", iops, 100*e)
		}
	}
}

func TestLimitsRefuse(t *testing.T) {
	two := []LimitPoint{{IOPS: 1000, Rate: 100}, {IOPS: 2000, Rate: 180}}
	for _, x := range []struct {
		c  LimitCurve
		at float64
	}{{LimitCurve{Points: two[:1], Clients: 8}, 1500}, {LimitCurve{Points: two}, 1500}, {LimitCurve{Points: two, Clients: 8}, 2500}, {LimitCurve{Points: two, Clients: 8}, 9000}, {LimitCurve{Points: append(two, LimitPoint{IOPS: 5}), Clients: 8}, 1500}} {
		if r := x.c.Predict(x.at); r.Refusal == nil || r.Refusal.Measure == "" {
			t.Errorf("%+v at %g is not refused", x.c, x.at)
		}
	}
	slower := LimitCurve{Clients: 8, Points: []LimitPoint{{IOPS: 100, Rate: 80}, {IOPS: 900, Rate: 10}}}
	if r := slower.Predict(300); r.Refusal == nil || r.Refusal.Why != "the faster volume did less: 10.0 a second with 900 IOPS, and 80.0 with 100" {
		t.Errorf("a faster volume that did less: %+v", r)
	}
	slower.Points[1].Error = 0.9
	if r := slower.Predict(300); r.Refusal != nil {
		t.Errorf("a rate that is hardly known: %+v", r)
	}
	alone := LimitCurve{Clients: 8, Points: []LimitPoint{{IOPS: 100, Rate: 100}, {IOPS: 300, Rate: 300}}}
	if r := alone.Predict(200); r.Refusal != nil || r.Values[0].How != "1 I/Os of the volume and too little to be seen of everything else for each operation" {
		t.Errorf("clients that wait for the volume alone: %+v", r)
	}
	same := LimitCurve{Clients: 8, Points: []LimitPoint{{IOPS: 1000, Rate: 100}, {IOPS: 2000, Rate: 101}}}
	if r := same.Predict(1500); len(r.Warnings) == 0 {
		t.Error("volumes that made no difference are not doubted")
	}
}

// TestMeasuredErrorWidens: what was measured roughly is forecast roughly.
func TestMeasuredErrorWidens(t *testing.T) {
	limits := LimitCurve{Clients: 8, Points: []LimitPoint{{150, 140, 0.5}, {2400, 1820, 0.1}}}
	if v := limits.Predict(600).Values[0]; v.High < 1.49*v.Value {
		t.Errorf("volumes measured within 50 %%: %+v", v)
	}
	caches := CacheCurve{Data: 95 * gib, Points: []CachePoint{{5 * gib, 783, 0}, {20 * gib, 1744, 0.4}, {50 * gib, 3335, 0.1}, {80 * gib, 5948, 0}}}
	if v := caches.Predict(30 * gib).Values[0]; v.High < 1.4*v.Value {
		t.Errorf("caches measured within 40 %%: %+v", v)
	}
}

// TestOnePointLeftOutProvesLittle: three volumes that lie on the curve by chance do not make it certain, nor two
// pairs of a log; many do.
func TestOnePointLeftOutProvesLittle(t *testing.T) {
	exact := func(sizes ...float64) LimitCurve {
		c := LimitCurve{Clients: 16}
		for _, iops := range sizes {
			c.Points = append(c.Points, LimitPoint{IOPS: iops, Rate: Network{Think: 0.01, Stations: []Station{{Demand: 4 / iops}}}.Rate(16)})
		}
		return c
	}
	wide := func(c LimitCurve) float64 { v := c.Predict(3000).Values[0]; return v.High/v.Value - 1 }
	two, three, many := wide(exact(1000, 8000)), wide(exact(1000, 4000, 8000)), wide(exact(1000, 1500, 2000, 2500, 4000, 5000, 6000, 7000, 8000, 9000))
	if math.Abs(two-0.15) > 1e-9 || three < 0.1 || three > two || many > 0.06 {
		t.Errorf("from two volumes %.3f, from three %.3f, from ten %.3f", two, three, many)
	}
	pairs := Extra{{1000, 1 / (1.0/1000 + 0.0001)}, {5000, 1 / (1.0/5000 + 0.0001)}}
	if v := pairs.Predict(2000).Values[0]; v.High/v.Value < 1.06-1e-9 {
		t.Errorf("from two pairs %+v", v)
	}
}

// TestDataThatCannotBeAll: where the rate still rises with caches that hold all the data, that is not all of it.
func TestDataThatCannotBeAll(t *testing.T) {
	c := CacheCurve{Data: 9.5 * gib, Points: []CachePoint{{5 * gib, 783, 0}, {20 * gib, 1744, 0}, {50 * gib, 3335, 0}, {80 * gib, 5948, 0}}}
	if r := c.Predict(30 * gib); r.Refusal == nil || !strings.Contains(r.Refusal.Why, "all of 9.5G fits into a cache of 20G, and with 50G the rate still rose from 1,744 to 3,335") {
		t.Errorf("%+v", r)
	}
	c = CacheCurve{Data: 40 * gib, Points: []CachePoint{{5 * gib, 783, 0}, {20 * gib, 1744, 0}, {50 * gib, 3335, 0}, {80 * gib, 3400, 0}}}
	if r := c.Predict(60 * gib); r.Refusal != nil {
		t.Errorf("%+v", r.Refusal)
	}
}
