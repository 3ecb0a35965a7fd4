package model

import (
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/stats"
	"plumb/knowledge"
)

// clouds reads those that are built in.
func clouds(t testing.TB) (all []Cloud) {
	t.Helper()
	files, err := fs.Glob(knowledge.FS, "clouds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no clouds", err)
	}
	for _, f := range files {
		data, err := knowledge.FS.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ReadCloud(f, data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

var day = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)

func need(gib, iops, mibps float64) Load {
	return Load{GiB: gib, IOPS: stats.Exactly(iops), MiBps: stats.Exactly(mibps)}
}

// TestEveryFigureHasDateAndSource: no limit and no price without both; a price
// without a date says so in its source, and is doubted.
func TestEveryFigureHasDateAndSource(t *testing.T) {
	for _, c := range clouds(t) {
		for _, v := range c.Volumes {
			if v.Read.IsZero() || v.Source == "" {
				t.Errorf("%s %s: limits of no date or source", c.Provider, v.Name)
			}
			priced := v.Price.GiB != nil || len(v.Tiers) > 0
			if priced && (v.Price.Source == "" || v.Price.Date.IsZero() && !strings.Contains(v.Price.Source, "no date")) {
				t.Errorf("%s %s: prices of no date or source", c.Provider, v.Name)
			}
		}
		for _, i := range c.Instances {
			if i.Date.IsZero() || i.Source == "" {
				t.Errorf("%s %s: limits of no date or source", c.Provider, i.Name)
			}
		}
	}
}

// TestEqualVolumes: seed:ebs-01. 1 TB at 3,000 IOPS of 16K: 46.9 MiB/s (published
// 46.8 MB/s). A check of units.
func TestEqualVolumes(t *testing.T) {
	if got := 3000 * 16.0 / 1024; got < 46.8 || got > 46.9 {
		t.Errorf("%.2f MiB/s", got)
	}
	r := ChooseVolume(clouds(t), need(1000, 2700, 2700*16.0/1024), day)
	var names []string
	for _, v := range r.Values {
		if strings.HasPrefix(v.Name, "aws") {
			names = append(names, v.Name)
		}
		t.Logf("%s: %.2f (%.2f to %.2f); %s", v.Name, v.Value, v.Low, v.High, v.How)
	}
	if strings.Join(names, ",") != "aws gp3,aws gp2,aws io1,aws io2" {
		t.Errorf("the order is %v: gp3 is the cheapest, and io1 and io2 cost as much", names)
	}
	if v := named(t, r, "aws gp3"); v.Value != 80 {
		t.Errorf("gp3 of 1000 GiB costs %.2f, want 80: 3,000 IOPS are in the price", v.Value)
	}
	if v := named(t, r, "aws io2"); v.Value != 1000*0.125+3000*0.065 {
		t.Errorf("io2 costs %.2f", v.Value)
	}
}

// TestVarianceCounts: seed:variance-01. Who needs it 99.9 % of the time gets no
// volume that is promised for 99 %, however cheap.
func TestVarianceCounts(t *testing.T) {
	l := need(1000, 2700, 40)
	l.Steady = 0.999
	r := ChooseVolume(clouds(t), l, day)
	for _, v := range r.Values {
		if v.Name == "aws gp3" || v.Name == "aws gp2" {
			t.Errorf("%s is promised for 99 %% only", v.Name)
		}
	}
	named(t, r, "aws io2")
	named(t, r, "azure premium-ssd")
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "premium-ssd-v2: 1000G, 3,000 IOPS and 119M/s would do") {
		t.Errorf("Premium SSD v2 is promised for 99.9 %% as well: %q", r.Warnings)
	}
}

// TestCredits: a small gp2 bears an hour's peak by its credits and not for ever.
func TestCredits(t *testing.T) {
	l := need(100, 1500, 30)
	const why = "gp2"
	size := func() float64 {
		for _, v := range ChooseVolume(clouds(t), l, day).Values {
			if v.Name == "aws "+why {
				return v.Value
			}
		}
		return 0
	}
	forever := size()
	l.Lasts = time.Hour // (1500/0.9 - 300) × 3600 = 4.9 million credits of 5.4
	hour := size()
	l.Lasts = 2 * time.Hour
	two := size()
	if hour != 10 || forever <= hour || two != forever {
		t.Errorf("for ever %.2f, an hour %.2f, two %.2f", forever, hour, two)
	}
	l.Lasts, l.Series = 0, []Spell{{2000, 1000 * time.Second}, {0, 6200 * time.Second}}
	if got := size(); got != 10 {
		t.Errorf("its credits last for the recorded load, and it costs %.2f", got)
	}
	// As many samples of a minute are sixty times as long.
	l.Series = slices.Repeat([]Spell{{2000, time.Minute}}, 1000)
	if got := size(); got != forever {
		t.Errorf("a peak of 17 hours is left to credits of an hour, for %.2f", got)
	}
}

// TestWhenCreditsEnd: the answer says when, and that they were full; 5.4 million I/Os above the 300 of 100 GiB last
// 5.4e6 / (1350/0.9 - 300) = 4,500 s.
func TestWhenCreditsEnd(t *testing.T) {
	how := func(l Load) string { return named(t, ChooseVolume(clouds(t), l, day), "aws gp2").How }
	l := need(100, 1350, 30)
	if got := how(l); !strings.Contains(got, "with 100G its full bucket would last 75 min at the peak") {
		t.Errorf("for ever: %s", got)
	}
	l.Lasts = time.Hour
	if got := how(l); !strings.Contains(got, "a full bucket lasts 75 min at the peak") {
		t.Errorf("an hour: %s", got)
	}
	l.Lasts, l.Series = 0, []Spell{{100, time.Minute}, {1800, 3000 * time.Second}} // of 5.4 million 4.5 are spent
	if got := how(l); !strings.Contains(got, "if they are full at the beginning: at least 17 % are left") {
		t.Errorf("a load that they bear: %s", got)
	}
	l.Series = []Spell{{100, time.Minute}, {1800, 9000 * time.Second}} // used up after 60 + 3,600 s
	if got := how(l); !strings.Contains(got, "with 100G its full bucket would last 61 min from the beginning of the recorded load") {
		t.Errorf("a load that they do not bear: %s", got)
	}
}

// TestThroughputTakesIOPS: Hyperdisk Balanced, Premium SSD v2 and gp3 do a quarter of a MiB (of a MB) a second for each
// of their IOPS at most, and Hyperdisk is sold with a 256th of a MiB/s for each at least.
func TestThroughputTakesIOPS(t *testing.T) {
	all := map[string]Volume{}
	for _, c := range clouds(t) {
		for _, v := range c.Volumes {
			all[v.Name] = v
		}
	}
	const mb = 1e6 / (1 << 20)
	for _, x := range []struct {
		of                          string
		size, iops, mibps           float64
		wantSize, wantIOPS, wantMiB float64
	}{
		{"hyperdisk-balanced", 1024, 1000, 900, 1024, 3600, 900},
		{"hyperdisk-balanced", 1024, 100000, 100, 1024, 100000, 390.625},
		{"hyperdisk-balanced", 1024, 100, 100, 1024, 3000, 140},
		{"hyperdisk-balanced", 10, 1000, 2400, 20, 9600, 2400},
		{"premium-ssd-v2", 1024, 1000, 750 * mb, 1024, 3000, 750 * mb},
		{"premium-ssd-v2", 1024, 1000, 2000 * mb, 1024, 8000, 2000 * mb},
		{"premium-ssd-v2", 4, 3000, 125 * mb, 4, 3000, 125 * mb},
		{"gp3", 1024, 900, 900, 1024, 4000, 1000}, // of which 90 % are promised
		{"gp3", 1, 2700, 10, 1, 3000, 125},
		{"gp3", 1, 4500, 10, 10, 5000, 125},
	} {
		gib, o := x.size, Option{}
		b, ok := all[x.of].sized(&gib, x.iops, x.mibps, Load{GiB: x.size}, &o)
		if !ok || gib != x.wantSize || math.Abs(b.iops-x.wantIOPS) > 1e-6 || math.Abs(b.mibps-x.wantMiB) > 1e-6 {
			t.Errorf("%+v: %g GiB, %g IOPS, %g MiB/s; %s", x, gib, b.iops, b.mibps, o.Why)
		}
	}
	for _, name := range []string{"hyperdisk-balanced", "premium-ssd-v2"} {
		gib, o := 1024.0, Option{}
		if _, ok := all[name].sized(&gib, 100, 2401, Load{GiB: gib}, &o); ok || !strings.Contains(o.Why, "are needed") {
			t.Errorf("%s is taken to do 2,401 MiB/s", name)
		}
	}
}

// TestIOPSForThroughputArePaidFor: 900 MiB/s take 3,600 IOPS, and both are above what is included.
func TestIOPSForThroughputArePaidFor(t *testing.T) {
	c, err := ReadCloud("made.yaml", []byte(`{provider: p, region: r, volumes: {v: {title: t,
  limits: {date: 2026-11-28, source: s, gib: {least: 6, most: 65536}, iops: {included: 3000, most: 160000, most_per_gib: 500}, mibps: {included: 140, most: 2400, most_per_iops: 0.25}},
  price: {date: 2026-11-28, source: s, gib: 0.08, iops: 0.005, mibps: 0.04}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if v := named(t, ChooseVolume([]Cloud{c}, need(1024, 1000, 900), day), "p v"); math.Abs(v.Value-(1024*0.08+600*0.005+760*0.04)) > 1e-9 {
		t.Errorf("%+v", v)
	}
}

// TestMegabytesOfAzure: its MB are of a million bytes, so that a P30 of 200 MB/s does not do 195 MiB/s.
func TestMegabytesOfAzure(t *testing.T) {
	if v := named(t, ChooseVolume(clouds(t), need(1000, 2000, 190), day), "azure premium-ssd"); !strings.Contains(v.How, "191M/s; P30") {
		t.Errorf("%+v", v)
	}
	if v := named(t, ChooseVolume(clouds(t), need(1000, 2000, 195), day), "azure premium-ssd"); !strings.Contains(v.How, "P40") {
		t.Errorf("%+v", v)
	}
}

func TestInstanceLimits(t *testing.T) {
	l := need(2000, 20000, 300)
	l.Instance = "m5.4xlarge"
	r := ChooseVolume(clouds(t), l, day)
	for _, v := range r.Values {
		if strings.HasPrefix(v.Name, "aws") {
			t.Errorf("%s cannot do it on an m5.4xlarge", v.Name)
		}
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "m5.4xlarge is limited to 18,750 IOPS") {
		t.Errorf("nothing says why: %q", r.Warnings)
	}
	if strings.Contains(strings.Join(r.Warnings, "\n"), "azure") {
		t.Errorf("volumes that no machine of this cloud can have are weighed: %q", r.Warnings)
	}
	l.Instance = "x9.huge"
	if r := ChooseVolume(clouds(t), l, day); !strings.Contains(strings.Join(r.Warnings, "\n"), "azure premium-ssd: the limits of x9.huge are not known here") {
		t.Errorf("a machine that is not known is not said to be: %q", r.Warnings)
	}
}

// TestUnknownHalfOfALoad: what is not known of a load is not nought.
func TestUnknownHalfOfALoad(t *testing.T) {
	for want, l := range map[string]Load{
		"how many bytes a second": {GiB: 1000, IOPS: stats.Exactly(20000)},
		"how many I/Os a second":  {GiB: 1000, MiBps: stats.Exactly(500)},
	} {
		if r := ChooseVolume(clouds(t), l, day); !strings.Contains(strings.Join(r.Warnings, "\n"), want) {
			t.Errorf("it is not said that it is unknown %s: %q", want, r.Warnings)
		}
	}
	if r := ChooseVolume(clouds(t), need(1000, 2700, 40), day); strings.Contains(strings.Join(r.Warnings, "\n"), "alone") {
		t.Errorf("a load that is known: %q", r.Warnings)
	}
}

// TestOldPricesAreDoubted: of 2023 now, and those of 2026 in 2028.
func TestOldPricesAreDoubted(t *testing.T) {
	said := func(now time.Time, what string) bool {
		return strings.Contains(strings.Join(ChooseVolume(clouds(t), need(500, 2000, 30), now).Warnings, "\n"), what)
	}
	if !said(day, "pd-ssd are from 2023-05-18") || said(day, "gp3 are from") || !said(day.AddDate(2, 0, 0), "gp3 are from 2026-01-31") {
		t.Error("an old price is not doubted, or a new one is")
	}
	if !said(day, "the date of the prices of azure premium-ssd is not known") {
		t.Error("a price without a date is not doubted")
	}
	if !said(day, "hyperdisk-balanced: 500G") {
		t.Error("a volume without a known price is not named")
	}
}

func TestVolumeRefuses(t *testing.T) {
	for _, l := range []Load{{IOPS: stats.Exactly(100)}, {GiB: 100}, need(100, 1e9, 1)} {
		if r := ChooseVolume(clouds(t), l, day); r.Refusal == nil || r.Refusal.Measure == "" {
			t.Errorf("%+v is not refused", l)
		}
	}
}

// TestLoadsRangeIsThePricesRange: what is known roughly is priced roughly.
func TestLoadsRangeIsThePricesRange(t *testing.T) {
	l := need(1000, 8000, 100)
	l.IOPS = stats.Estimate{Value: 8000, Low: 6000, High: 10000}
	v := named(t, ChooseVolume(clouds(t), l, day), "aws gp3")
	if !(v.Low < v.Value && v.Value < v.High) {
		t.Errorf("%+v", v)
	}
}

// TestLargeIOsSpendMoreCredits: where one counts as two, the recorded load does so too.
func TestLargeIOsSpendMoreCredits(t *testing.T) {
	l := need(100, 700, 30)
	l.Series = []Spell{{1900, 3000 * time.Second}} // 4.8 million credits of 5.4, or more than there are
	small := named(t, ChooseVolume(clouds(t), l, day), "aws gp2").Value
	l.KiB = 300
	large := named(t, ChooseVolume(clouds(t), l, day), "aws gp2").Value
	if small != 10 || large <= small {
		t.Errorf("of small I/Os for %.2f, of large ones for %.2f", small, large)
	}
}

// TestThroughputOfSmallVolumes: what goes through a volume of AWS is its I/Os of 256 KiB each, so a small gp2
// or a few provisioned IOPS do not carry a large flow.
func TestThroughputOfSmallVolumes(t *testing.T) {
	flow := Load{GiB: 100, MiBps: stats.Exactly(180)}
	r := ChooseVolume(clouds(t), flow, day)
	if v := named(t, r, "aws gp2"); v.Value < 26 { // 180 / 0.9 / 0.75 GiB
		t.Errorf("a gp2 of 100 GiB is taken to do 200 MiB/s: %+v", v)
	}
	if v := named(t, r, "aws io1"); math.Abs(v.Value-(100*0.125+800*0.065)) > 0.01 || !strings.Contains(v.How, "800 IOPS, 200M/s") {
		t.Errorf("200 MiB/s take 800 IOPS: %+v", v)
	}
	// With credits a small gp2 does 128 MiB/s, as long as they last.
	l := need(100, 1500, 100)
	l.Lasts = time.Hour
	if v := named(t, ChooseVolume(clouds(t), l, day), "aws gp2"); v.Value != 10 {
		t.Errorf("an hour's peak on credits costs %.2f", v.Value)
	}
	l.Lasts = 0
	if v := named(t, ChooseVolume(clouds(t), l, day), "aws gp2"); v.Value <= 10 {
		t.Errorf("a load for ever is left to credits: %.2f", v.Value)
	}
}

// TestPricesAreDated: the answer says of which region prices are, when they were read and where.
func TestPricesAreDated(t *testing.T) {
	said := strings.Join(ChooseVolume(clouds(t), need(500, 2000, 30), day).Assumptions, "\n")
	for _, want := range []string{"prices of aws are those of us-east-1, of 2026-01-31: AWS, EBS optimization", "prices of azure are those of East US, without a date: ", "prices of gcp are those of us-central1, of 2023-05-18: ",
		"more is bought than the load needs, where a provider promises less than it sells: 90 % of aws gp3"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%d times: %s, in\n%s", strings.Count(said, want), want, said)
		}
	}
}

func FuzzReadCloud(f *testing.F) {
	for _, name := range []string{"clouds/aws.yaml", "clouds/azure.yaml", "clouds/gcp.yaml"} {
		data, err := knowledge.FS.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("volumes: {x: {limits: {iops: {included: -1}}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadCloud("fuzz.yaml", data)
		if err != nil {
			return
		}
		r := ChooseVolume([]Cloud{c}, need(100, 1000, 50), day)
		for _, v := range r.Values {
			if !(v.Value >= 0) {
				t.Errorf("a volume costs %g", v.Value)
			}
		}
	})
}

// TestLeastIOPS: of io1 and io2 nobody buys fewer than 100 IOPS (EC2 API, CreateVolume).
func TestLeastIOPS(t *testing.T) {
	r := ChooseVolume(clouds(t), need(1024, 0.5, 0.01), day)
	for _, name := range []string{"aws io1", "aws io2"} {
		if v := named(t, r, name); v.Value != 1024*0.125+100*0.065 || !strings.Contains(v.How, "100 IOPS") {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestWhyNoTierDoes: the size where it is that, and of the load what is known.
func TestWhyNoTierDoes(t *testing.T) {
	why := func(l Load) string {
		for _, w := range ChooseVolume(clouds(t), l, day).Warnings {
			if why, is := strings.CutPrefix(w, "azure premium-ssd: "); is {
				return why
			}
		}
		return ""
	}
	for want, l := range map[string]Load{
		"it has at most 32T, but 100T are needed": need(100*1024, 3000, 0),
		"no size of it gives 30,000 IOPS":         need(100, 30000, 0),
		"no size of it gives 2.93G/s":             need(100, 0, 3000),
	} {
		if got := why(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestCloudsThatAreIncomplete: the line is named.
func TestCloudsThatAreIncomplete(t *testing.T) {
	const head = "provider: p\nregion: r\nvolumes:\n  v:\n    title: t\n    limits: {date: DATE, source: s}\n    tiers:\n      - {name: a, gib: 1, iops: 1RATE}\n"
	for want, text := range map[string]string{
		"made.yaml:8:9: a tier needs mibps":                        strings.NewReplacer("DATE", "2026-01-01", "RATE", "").Replace(head),
		`made.yaml:6:20: a date is written 2006-01-02, not "soon"`: strings.NewReplacer("DATE", "soon", "RATE", ", mibps: 5").Replace(head),
	} {
		if _, err := ReadCloud("made.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What is not bought is not said to be bought in excess.
func TestPromisedLessIsOfWhatIsBought(t *testing.T) {
	got := promisedLess([]Option{{Name: "aws gp3", Part: 0.9, Why: "promised for 99 % of a year"}, {Name: "aws io2", Part: 0.9}})
	if !strings.Contains(got, "aws io2") || strings.Contains(got, "aws gp3") {
		t.Error(got)
	}
}
