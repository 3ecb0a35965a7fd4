package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"plumb/internal/strictyaml"
)

// Cloud is what a provider's volumes do and cost in a region.
type Cloud struct {
	Provider, Region string
	Volumes          []Volume
	Instances        []Instance
}

// Volume is one type of volume. Zero is unknown, or no limit.
type Volume struct {
	Name, Title string
	Source      string // of the limits
	Read        time.Time
	GiBLeast    float64
	GiBMost     float64
	IOPS, MiBps Limit
	KiB         float64 // of an I/O that counts as one
	Burst       Burst
	Part        float64 // of the limit that the provider promises
	OfTime      float64 // for this part of the time
	Price       Price
	Tiers       []Tier // sizes that are sold, instead of any size
}

// Limit is what a volume does a second.
type Limit struct {
	Least, PerGiB, Most float64 // by its size
	Chosen              bool    // one buys as much as one wants, up to Most
	Included            float64 // of that, in the price of the size
	MostPerGiB          float64 // of that, for its size
	MostPerIOPS         float64 // of MiB/s, for its IOPS
	LeastPerIOPS        float64 // of MiB/s, that one must buy with its IOPS
}

// megabyte is how many MiB a MB is: of a million bytes, as Azure counts.
const megabyte = 1e6 / (1 << 20)

// times is the limit in another unit.
func (l Limit) times(by float64) Limit {
	for _, f := range []*float64{&l.Least, &l.PerGiB, &l.Most, &l.Included, &l.MostPerGiB, &l.MostPerIOPS, &l.LeastPerIOPS} {
		*f *= by
	}
	return l
}

// Burst is what credits permit above the limit.
type Burst struct {
	IOPS, MiBps float64
	Credits     float64 // I/Os of a full bucket
	Seconds     float64 // or how long a full bucket lasts at IOPS
	ToGiB       float64 // sizes that have it; 0: those whose limit is below IOPS
}

// Price is in dollars a month. Nil is unknown.
type Price struct {
	Source           string
	Date             time.Time // zero: not known
	GiB, IOPS, MiBps *float64
	IOPSTo           float64 // up to which IOPS has this price; 0 for all
}

// Tier is a size that is sold.
type Tier struct {
	Name             string
	GiB, IOPS, MiBps float64
	Month            *float64
}

// Instance is a machine's limit for all its volumes together.
type Instance struct {
	Name        string
	IOPS, MiBps float64
	Source      string
	Date        time.Time
}

// ReadCloud reads a file of knowledge/clouds.
func ReadCloud(file string, data []byte) (Cloud, error) {
	var c Cloud
	s, root := strictyaml.Parse(file, data)
	if root == nil {
		return c, s.Err()
	}
	s.Object(root, "a cloud", strictyaml.Fields{
		"provider": func(n *strictyaml.Node) { c.Provider = s.Text(n, "provider") },
		"region":   func(n *strictyaml.Node) { c.Region = s.Text(n, "region") },
		"volumes": func(n *strictyaml.Node) {
			s.Entries(n, "volumes", func(key, v *strictyaml.Node) { c.Volumes = append(c.Volumes, readVolume(s, key.Value, v)) })
		},
		"instances": func(n *strictyaml.Node) {
			s.Entries(n, "instances", func(key, v *strictyaml.Node) { c.Instances = append(c.Instances, readInstance(s, key.Value, v)) })
		},
	}, "provider", "region", "volumes")
	return c, s.Err()
}

func readVolume(s *strictyaml.Document, name string, n *strictyaml.Node) Volume {
	v := Volume{Name: name}
	s.Object(n, "a volume", strictyaml.Fields{
		"title":  func(n *strictyaml.Node) { v.Title = s.Text(n, "title") },
		"limits": func(n *strictyaml.Node) { v.readLimits(s, n) },
		"price":  func(n *strictyaml.Node) { v.Price = readPrice(s, n) },
		"tiers": func(n *strictyaml.Node) {
			s.Items(n, "tiers", func(t *strictyaml.Node) { v.Tiers = append(v.Tiers, readTier(s, t)) })
		},
	}, "title", "limits")
	slices.SortFunc(v.Tiers, func(a, b Tier) int { return cmp.Compare(a.GiB, b.GiB) })
	return v
}

func (v *Volume) readLimits(s *strictyaml.Document, n *strictyaml.Node) {
	s.Object(n, "limits", strictyaml.Fields{
		"date":   func(n *strictyaml.Node) { v.Read = date(s, n) },
		"source": func(n *strictyaml.Node) { v.Source = s.Text(n, "source") },
		"gib": func(n *strictyaml.Node) {
			numbers(s, n, "gib", map[string]*float64{"least": &v.GiBLeast, "most": &v.GiBMost})
		},
		"iops":   func(n *strictyaml.Node) { v.IOPS = readLimit(s, n, "iops") },
		"mibps":  func(n *strictyaml.Node) { v.MiBps = readLimit(s, n, "mibps") },
		"mbps":   func(n *strictyaml.Node) { v.MiBps = readLimit(s, n, "mbps").times(megabyte) },
		"io_kib": func(n *strictyaml.Node) { v.KiB = number(s, n, "io_kib") },
		"burst": func(n *strictyaml.Node) {
			b, mb := &v.Burst, 0.0
			numbers(s, n, "burst", map[string]*float64{"iops": &b.IOPS, "mibps": &b.MiBps, "mbps": &mb, "credits": &b.Credits, "seconds": &b.Seconds, "to_gib": &b.ToGiB})
			b.MiBps = max(b.MiBps, mb*megabyte)
		},
		"delivers": func(n *strictyaml.Node) {
			numbers(s, n, "delivers", map[string]*float64{"part": &v.Part, "of_time": &v.OfTime})
		},
	}, "date", "source")
}

func readLimit(s *strictyaml.Document, n *strictyaml.Node, what string) (l Limit) {
	numbers(s, n, what, map[string]*float64{"least": &l.Least, "per_gib": &l.PerGiB, "most": &l.Most, "included": &l.Included,
		"most_per_gib": &l.MostPerGiB, "most_per_iops": &l.MostPerIOPS, "least_per_iops": &l.LeastPerIOPS})
	for i := 0; strictyaml.IsMap(n) && i < len(n.Content); i += 2 {
		l.Chosen = l.Chosen || n.Content[i].Value == "included"
	}
	return l
}

func readPrice(s *strictyaml.Document, n *strictyaml.Node) (p Price) {
	money := func(into **float64) func(*strictyaml.Node) {
		return func(n *strictyaml.Node) { f := number(s, n, "a price"); *into = &f }
	}
	s.Object(n, "a price", strictyaml.Fields{
		"date":    func(n *strictyaml.Node) { p.Date = date(s, n) },
		"source":  func(n *strictyaml.Node) { p.Source = s.Text(n, "source") },
		"gib":     money(&p.GiB),
		"iops":    money(&p.IOPS),
		"mibps":   money(&p.MiBps),
		"iops_to": func(n *strictyaml.Node) { p.IOPSTo = number(s, n, "iops_to") },
	}, "source")
	return p
}

func readTier(s *strictyaml.Document, n *strictyaml.Node) (t Tier) {
	s.Object(n, "a tier", strictyaml.Fields{
		"name":  func(n *strictyaml.Node) { t.Name = s.Text(n, "name") },
		"gib":   func(n *strictyaml.Node) { t.GiB = number(s, n, "gib") },
		"iops":  func(n *strictyaml.Node) { t.IOPS = number(s, n, "iops") },
		"mibps": func(n *strictyaml.Node) { t.MiBps = number(s, n, "mibps") },
		"mbps":  func(n *strictyaml.Node) { t.MiBps = number(s, n, "mbps") * megabyte },
		"month": func(n *strictyaml.Node) { f := number(s, n, "month"); t.Month = &f },
	}, "name", "gib", "iops")
	if t.MiBps == 0 {
		s.Errorf(n, "a tier needs mibps, or mbps of a million bytes")
	}
	return t
}

func readInstance(s *strictyaml.Document, name string, n *strictyaml.Node) Instance {
	i := Instance{Name: name}
	s.Object(n, "an instance", strictyaml.Fields{
		"iops":   func(n *strictyaml.Node) { i.IOPS = number(s, n, "iops") },
		"mibps":  func(n *strictyaml.Node) { i.MiBps = number(s, n, "mibps") },
		"date":   func(n *strictyaml.Node) { i.Date = date(s, n) },
		"source": func(n *strictyaml.Node) { i.Source = s.Text(n, "source") },
	}, "iops", "mibps", "date", "source")
	return i
}

// numbers reads a mapping of numbers.
func numbers(s *strictyaml.Document, n *strictyaml.Node, what string, into map[string]*float64) {
	fields := strictyaml.Fields{}
	for key, to := range into {
		fields[key] = func(n *strictyaml.Node) { *to = number(s, n, key) }
	}
	s.Object(n, what, fields)
}

// number reads one that is not below nought, and finite.
func number(s *strictyaml.Document, n *strictyaml.Node, what string) float64 {
	f := s.Number(n, what)
	if !(f >= 0 && f < 1e15) {
		s.Errorf(n, "%s is a number from 0 to 1e15", what)
		return 0
	}
	return f
}

func date(s *strictyaml.Document, n *strictyaml.Node) time.Time {
	text := s.Text(n, "date")
	d, err := time.Parse(time.DateOnly, text)
	if err != nil && text != "" {
		s.Errorf(n, "a date is written %s, not %s", time.DateOnly, fmt.Sprintf("%q", text))
	}
	return d
}
