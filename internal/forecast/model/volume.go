package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// Load is what a volume has to bear.
type Load struct {
	GiB      float64
	IOPS     stats.Estimate // that it must give at the peak
	MiBps    stats.Estimate
	KiB      float64       // of a mean I/O; 0: not known
	Steady   float64       // the part of time for which it must; 0: as the provider promises
	Lasts    time.Duration // of the peak; 0: for ever
	Series   []Spell       // its I/Os, one spell after the other, where it was recorded; nil: not known
	Doubts   []string      // what is not sure of it, for people
	Instance string        // the machine that it is attached to; "" for none in particular
}

// oldPrice is the age from which a price is doubted.
const oldPrice = 365 * 24 * time.Hour

// Option is a volume that bears a load, or why it does not.
type Option struct {
	Name   string
	GiB    float64
	IOPS   float64
	MiBps  float64
	Month  stats.Estimate // dollars
	Part   float64        // of what is bought, what its provider promises; 0: not said
	Why    string         // it does not bear it, or has no price; "" otherwise
	Note   string
	Doubts []string
}

// ChooseVolume compares the volumes of clouds for a load, the cheapest first. now
// tells how old the prices are.
func ChooseVolume(clouds []Cloud, l Load, now time.Time) Result {
	if !(l.GiB > 0) {
		return refused("give its size, or forecast it: plumb forecast space", "how large the volume must be is not known")
	}
	if !(l.IOPS.Value > 0) && !(l.MiBps.Value > 0) {
		return refused("record the load at its peak (plumb watch record), or give --iops and --throughput", "how many I/Os and bytes a second it must give is not known")
	}
	var options []Option
	for _, c := range attachable(clouds, l.Instance) {
		for _, v := range c.Volumes {
			options = append(options, v.option(c, l, now))
		}
	}
	r := offered(options, l)
	for _, c := range attachable(clouds, l.Instance) {
		r.Assumptions = append(r.Assumptions, c.prices()...)
	}
	return r
}

// prices says of which region the prices are, when they were read and where.
func (c Cloud) prices() (list []string) {
	for _, v := range c.Volumes {
		if v.Price.Source == "" {
			continue
		}
		when := "without a date"
		if !v.Price.Date.IsZero() {
			when = "of " + v.Price.Date.Format(time.DateOnly)
		}
		text := fmt.Sprintf("prices of %s are those of %s, %s: ", c.Provider, c.Region, when)
		source, _, _ := strings.Cut(v.Price.Source, ";") // what follows is of one volume
		if text += source; !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// attachable are the clouds whose volumes a machine can have: those that know it, or all
// where none does.
func attachable(clouds []Cloud, instance string) []Cloud {
	lacks := func(c Cloud) bool {
		return !slices.ContainsFunc(c.Instances, func(i Instance) bool { return i.Name == instance })
	}
	if instance == "" || !slices.ContainsFunc(clouds, func(c Cloud) bool { return !lacks(c) }) {
		return clouds
	}
	return slices.DeleteFunc(slices.Clone(clouds), lacks)
}

// offered makes the result of options.
func offered(options []Option, l Load) Result {
	r := Result{Model: "limits and prices as the providers publish them", Assumptions: []string{
		"the volume carries only this load",
		"prices are list prices, without commitment, snapshots and taxes",
	}}
	if l.Steady > 0 {
		r.Assumptions = append(r.Assumptions, "a volume whose provider promises less than the requested part of the time is not considered, whatever its mean: at the peak the steadier one wins")
	} else {
		r.Assumptions = append(r.Assumptions, "what a provider promises is enough; --steady 0.999 asks for more")
	}
	if less := promisedLess(options); less != "" {
		r.Assumptions = append(r.Assumptions, less)
	}
	if len(l.Series) > 0 {
		r.Assumptions = append(r.Assumptions, "the peak is the value that the recorded load does not exceed for 99 % of the time; the ranges are from that for 95 % to the maximum")
	}
	r.Warnings = append(r.Warnings, l.Doubts...)
	switch {
	case !(l.MiBps.Value > 0):
		r.Warnings = append(r.Warnings, "how many bytes a second it must give is not known (--io or --throughput): the volumes are chosen by IOPS alone")
	case !(l.IOPS.Value > 0):
		r.Warnings = append(r.Warnings, "how many I/Os a second it must give is not known (--iops): the volumes are chosen by throughput alone")
	}
	slices.SortStableFunc(options, func(a, b Option) int { return cmp.Compare(a.Month.Value, b.Month.Value) })
	seen := map[string]bool{}
	for _, o := range options {
		for _, d := range o.Doubts {
			if !seen[d] {
				seen[d] = true
				r.Warnings = append(r.Warnings, d)
			}
		}
		if o.Why != "" {
			r.Warnings = append(r.Warnings, o.Name+": "+o.Why)
			continue
		}
		how := fmt.Sprintf("%s, %s IOPS, %s", units.Size(o.GiB*gibibyte), units.PerSecond(o.IOPS), flow(o.MiBps))
		r.Values = append(r.Values, Value{Name: o.Name, Unit: Dollars, Estimate: o.Month, How: strings.Trim(how+"; "+o.Note, "; ")})
	}
	if len(r.Values) == 0 {
		measure := "give a smaller load, or spread it over several volumes"
		if l.Steady > 0 {
			measure += "; or a lower --steady"
		}
		r.Refusal = refused(measure, "no volume with a known price can carry it").Refusal
	}
	return r
}

// promisedLess says why more is bought than the load needs; "" where it is not.
func promisedLess(options []Option) string {
	var less []string
	for _, o := range options {
		if o.Why == "" && o.Part > 0 && o.Part < 1 {
			less = append(less, units.RoundPercent(o.Part)+" of "+o.Name)
		}
	}
	if len(less) == 0 {
		return ""
	}
	return "more is bought than the load needs, where a provider promises less than it sells: " + strings.Join(less, ", ")
}

// option sizes one type of volume for a load.
func (v Volume) option(c Cloud, l Load, now time.Time) Option {
	o := Option{Name: c.Provider + " " + v.Name, Part: v.Part}
	if l.Steady > 0 {
		if v.OfTime == 0 {
			o.Why = "what its provider promises about its steadiness is not known"
			return o
		}
		if v.OfTime < l.Steady {
			o.Why = fmt.Sprintf("promised for %.4g %% of the time", 100*v.OfTime)
			return o
		}
	}
	if why := c.instanceLimits(l); why != "" {
		o.Why = why
		return o
	}
	value := v.month(l, 0, &o)
	if o.Why != "" {
		return o
	}
	o.Month = stats.Exactly(value)
	for _, side := range []int{-1, 1} {
		var other Option
		if price := v.month(l, side, &other); other.Why == "" {
			o.Month = between(value, min(o.Month.Low, price), max(o.Month.High, price))
		} else {
			o.Doubts = append(o.Doubts, fmt.Sprintf("%s does not carry the upper end of the load: %s", o.Name, other.Why))
		}
	}
	switch {
	case v.Price.Date.IsZero():
		o.Doubts = append(o.Doubts, fmt.Sprintf("the date of the prices of %s %s is not known (%s)", c.Provider, v.Name, v.Price.Source))
	case now.Sub(v.Price.Date) > oldPrice:
		o.Doubts = append(o.Doubts, fmt.Sprintf("the prices of %s %s are from %s, more than 12 months ago", c.Provider, v.Name, v.Price.Date.Format(time.DateOnly)))
	}
	return o
}

// flow writes what goes through a volume.
func flow(mibps float64) string { return units.Measured(mibps*1048576) + "/s" }

// instanceLimits says why the machine cannot carry the load: the smaller of its
// limit and the volume's counts.
func (c Cloud) instanceLimits(l Load) string {
	if l.Instance == "" {
		return ""
	}
	for _, i := range c.Instances {
		if i.Name != l.Instance {
			continue
		}
		if i.IOPS < l.IOPS.Value || i.MiBps < l.MiBps.Value {
			return fmt.Sprintf("%s is limited to %s IOPS and %s, whatever the volume can do", i.Name, units.PerSecond(i.IOPS), flow(i.MiBps))
		}
		return ""
	}
	return fmt.Sprintf("the limits of %s are not known here", l.Instance)
}

// end of an estimate: its value, or its low or high end.
func end(e stats.Estimate, side int) float64 {
	switch {
	case side < 0:
		return e.Low
	case side > 0:
		return e.High
	}
	return e.Value
}

// month gives the price for one end of the load, and fills in what is bought.
func (v Volume) month(l Load, side int, o *Option) float64 {
	iops, mibps := end(l.IOPS, side), end(l.MiBps, side)
	if v.KiB > 0 && l.KiB > v.KiB {
		several := math.Ceil(l.KiB / v.KiB) // a larger I/O counts as several
		iops *= several
		l.Series = slices.Clone(l.Series)
		for i := range l.Series {
			l.Series[i].PerSecond *= several
		}
	}
	if len(v.Tiers) > 0 {
		return v.tier(l, iops, mibps, o)
	}
	gib := max(l.GiB, v.GiBLeast)
	buy, ok := v.sized(&gib, iops, mibps, l, o)
	if !ok {
		return 0
	}
	o.GiB, o.IOPS, o.MiBps = gib, buy.iops, buy.mibps
	return v.cost(gib, buy, o)
}

// bought is what one pays for besides the size.
type bought struct{ iops, mibps float64 }

// sized finds the size that gives what is asked for.
func (v Volume) sized(gib *float64, iops, mibps float64, l Load, o *Option) (b bought, ok bool) {
	promised := 1.0
	if v.Part > 0 {
		promised = v.Part
	}
	need := bought{iops / promised, mibps / promised}
	if v.IOPS.Chosen {
		b.iops = max(need.iops, v.IOPS.Included, v.IOPS.Least)
		if v.MiBps.MostPerIOPS > 0 && need.mibps > v.MiBps.Included {
			b.iops = max(b.iops, need.mibps/v.MiBps.MostPerIOPS)
		}
		if v.IOPS.MostPerGiB > 0 && b.iops > v.IOPS.Included { // what is in the price has every size
			*gib = max(*gib, b.iops/v.IOPS.MostPerGiB)
		}
	} else {
		if v.carries(*gib, l, need.iops, o) {
			need.iops = 0
			if need.mibps <= v.Burst.MiBps {
				need.mibps = 0 // those credits are I/Os, and what goes through with them is no other matter
			}
		}
		*gib = max(*gib, over(need.iops, v.IOPS))
		b.iops = v.IOPS.of(*gib)
	}
	if v.MiBps.Chosen {
		b.mibps = max(need.mibps, v.MiBps.Included, v.MiBps.LeastPerIOPS*b.iops)
	} else {
		*gib = max(*gib, over(need.mibps, v.MiBps))
		b.mibps = v.MiBps.of(*gib)
		if v.MiBps.MostPerIOPS > 0 {
			b.mibps = min(b.mibps, v.MiBps.MostPerIOPS*b.iops)
		}
	}
	switch {
	case v.GiBMost > 0 && *gib > v.GiBMost:
		o.Why = fmt.Sprintf("it has at most %s, but %s are needed", units.Size(v.GiBMost*gibibyte), units.Size(math.Ceil(*gib)*gibibyte))
	case v.IOPS.Most > 0 && max(need.iops, b.iops) > v.IOPS.Most:
		o.Why = fmt.Sprintf("at most %s IOPS, but %s are needed", units.PerSecond(v.IOPS.Most), units.PerSecond(max(need.iops, b.iops)))
	case v.MiBps.Most > 0 && need.mibps > v.MiBps.Most:
		o.Why = fmt.Sprintf("at most %s, but %s are needed", flow(v.MiBps.Most), flow(need.mibps))
	}
	*gib = math.Ceil(*gib)
	return b, o.Why == ""
}

// of is the limit of a volume of a size.
func (l Limit) of(gib float64) float64 {
	v := max(l.Least, l.PerGiB*gib)
	if l.Most > 0 {
		v = min(v, l.Most)
	}
	return v
}

// over is the size whose limit is as high as wanted.
func over(want float64, l Limit) float64 {
	if want <= l.Least || l.PerGiB == 0 {
		return 0
	}
	return want / l.PerGiB
}

// carries tells whether credits bear the load on a volume of this size: by the
// recorded series if there is one, else for as long as the peak lasts. They are
// full at the beginning, as those of a new volume; the note says so, and when they
// are used up on the smallest volume that has them.
func (v Volume) carries(gib float64, l Load, iops float64, o *Option) bool {
	b := v.bucket(v.IOPS.of(gib), gib)
	if b.Burst <= b.Base || iops <= b.Base || iops > b.Burst {
		return false
	}
	lasts, when := b.Lasts(iops), "at the peak"
	if len(l.Series) > 0 {
		spent := b.Over(l.Series)
		if spent.Empty < 0 {
			o.Note = fmt.Sprintf("its credits last for the recorded load if they are full at the beginning: at least %.0f %% are left", 100*spent.Least/b.Size)
			return true
		}
		lasts, when = spent.Empty.Seconds(), "from the beginning of the recorded load"
	} else if l.Lasts > 0 && lasts >= l.Lasts.Seconds() {
		o.Note = fmt.Sprintf("a full bucket lasts %s at the peak", units.Age(int64(lasts)))
		return true
	}
	o.Note = cmp.Or(o.Note, fmt.Sprintf("with %s its full bucket would last %s %s", units.Size(gib*gibibyte), units.Age(int64(lasts)), when))
	return false
}

// bucket is that of a volume whose limit is base.
func (v Volume) bucket(base, gib float64) Bucket {
	b := Bucket{Base: base, Burst: base}
	if v.Burst.IOPS <= base || v.Burst.ToGiB > 0 && gib > v.Burst.ToGiB {
		return b
	}
	b.Burst = v.Burst.IOPS
	b.Size = v.Burst.Credits
	if b.Size == 0 {
		b.Size = (b.Burst - base) * v.Burst.Seconds
	}
	return b
}

// tier gives the price of the smallest size that does.
func (v Volume) tier(l Load, iops, mibps float64, o *Option) float64 {
	for _, t := range v.Tiers {
		if t.GiB < l.GiB || t.MiBps < mibps {
			continue
		}
		w := v
		w.IOPS = Limit{Least: t.IOPS}
		if t.IOPS < iops && !w.carries(t.GiB, l, iops, o) {
			continue
		}
		if t.Month == nil {
			o.Why = fmt.Sprintf("%s would do, but its price is not known", t.Name)
			return 0
		}
		o.GiB, o.IOPS, o.MiBps = t.GiB, t.IOPS, t.MiBps
		o.Note = strings.Trim(t.Name+"; "+o.Note, "; ")
		return *t.Month
	}
	o.Why = v.noTier(l, iops, mibps)
	return 0
}

// noTier says what of a load no size bears; what is not known of it is not named.
func (v Volume) noTier(l Load, iops, mibps float64) string {
	if most := v.Tiers[len(v.Tiers)-1].GiB; most < l.GiB {
		return fmt.Sprintf("it has at most %s, but %s are needed", units.Size(most*gibibyte), units.Size(l.GiB*gibibyte))
	}
	var asked []string
	if iops > 0 {
		asked = append(asked, units.PerSecond(iops)+" IOPS")
	}
	if mibps > 0 {
		asked = append(asked, flow(mibps))
	}
	return "no size of it gives " + strings.Join(asked, " and ")
}

// cost is the price of what is bought, of which nothing may be unknown.
func (v Volume) cost(gib float64, b bought, o *Option) float64 {
	p := v.Price
	extraIOPS, extraMiBps := 0.0, 0.0
	if v.IOPS.Chosen {
		extraIOPS = max(0, b.iops-v.IOPS.Included)
	}
	if v.MiBps.Chosen {
		extraMiBps = max(0, b.mibps-v.MiBps.Included)
	}
	if p.GiB == nil || extraIOPS > 0 && (p.IOPS == nil || p.IOPSTo > 0 && b.iops > p.IOPSTo) || extraMiBps > 0 && p.MiBps == nil {
		o.Why = fmt.Sprintf("%s, %s IOPS and %s would do, but the price is not known", units.Size(gib*gibibyte), units.PerSecond(b.iops), flow(b.mibps))
		return 0
	}
	sum := gib * *p.GiB
	if extraIOPS > 0 {
		sum += extraIOPS * *p.IOPS
	}
	if extraMiBps > 0 {
		sum += extraMiBps * *p.MiBps
	}
	return sum
}
