package experiment

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plumb/internal/units"
)

// Profile is what a volume allows: a volume of a cloud by its name, or any
// limits. It says nothing of response times: what tells gp3 from io2 at equal
// limits, the time of a single request and how much it varies, is not in it.
type Profile struct {
	Name  string // gp2, p15, …; "" when the limits were written out
	Text  string // what it was read from, in one order: gp2,size=100G,credits=1%
	IOPS  Pace   // requests a second; after the burst where there is one
	Bytes Pace   // bytes a second; after the burst where there is one
	Unit  int64  // bytes that count as one request at most, where a larger one counts as several; 0: any size is one
	Burst *Burst // nil: the limits hold from the beginning
	Dip   *Dip   // nil: the limits are as steady as they are kept
	Notes []string
}

// Pace is how much may be done in a second; 0 is no limit. Both counts reads
// and writes together.
type Pace struct {
	Both, Read, Write float64
}

// Burst is what a volume allows while it has credits. A credit is one request
// (or one byte) beyond the lasting pace: credits come at the lasting pace and
// go with what is done, so a volume that does IOPS requests a second has
// credits for Credits/(IOPS-lasting) seconds.
type Burst struct {
	IOPS        float64 // reads and writes together
	Bytes       float64 // a second; 0: as the lasting one, and no credits are kept of bytes
	Credits     float64 // requests that a full bucket holds
	ByteCredits float64 // bytes that a full bucket holds; 0: none is kept
	Full        float64 // part of both buckets that is there in the beginning: 0 to 1
}

// Dip is how a volume varies: for some time at the end of each period it allows a
// part of what it does otherwise. Its mean is what is left.
type Dip struct {
	Every, For time.Duration
	To         float64 // part of the limits, above 0 and below 1
}

// MiB is the unit of the word mbps and of what Amazon calls MB/s. Azure's MB
// are a million bytes.
const MiB = 1 << 20

// None tells whether nothing is limited.
func (p Profile) None() bool { return p.IOPS == Pace{} && p.Bytes == Pace{} }

// String gives the profile as it is written in a file, in one order.
func (p Profile) String() string { return p.Text }

// Words says for people what the profile allows.
func (p Profile) Words() string {
	var parts []string
	add := func(text string, args ...any) { parts = append(parts, fmt.Sprintf(text, args...)) }
	for _, d := range []struct {
		of     string
		io, by float64
	}{{"", p.IOPS.Both, p.Bytes.Both}, {"read ", p.IOPS.Read, p.Bytes.Read}, {"write ", p.IOPS.Write, p.Bytes.Write}} {
		if d.io > 0 {
			add("%.10g %sIOPS", d.io, d.of)
		}
		if d.by > 0 {
			add("%s/s%s", units.Size(d.by), d.of)
		}
	}
	text := strings.Join(parts, ", ")
	if text == "" {
		text = "no limit"
	}
	if d := p.Dip; d != nil {
		text += fmt.Sprintf("; %s of it for %s every %s", units.Percent(d.To), units.Span(d.For), units.Span(d.Every))
	}
	if b := p.Burst; b != nil {
		text += fmt.Sprintf("; %.10g IOPS", b.IOPS)
		if b.Bytes > 0 {
			text += " and " + units.Size(b.Bytes) + "/s"
		}
		text += fmt.Sprintf(" while there are credits: %.4g of requests at the beginning, %s at full rate",
			b.Credits*b.Full, units.Span(p.Lasts()))
	}
	return text
}

// Lasts is how long the credits last at the full burst of requests; 0 when
// there is no burst.
func (p Profile) Lasts() time.Duration {
	if p.Burst == nil || p.Burst.IOPS <= p.IOPS.Both {
		return 0
	}
	return time.Duration(p.Burst.Credits * p.Burst.Full / (p.Burst.IOPS - p.IOPS.Both) * float64(time.Second))
}

// What Amazon's volumes allow: "Amazon EBS volume types" and "Amazon EBS I/O
// characteristics" of the EBS user guide; the limits of gp3 are those of
// September 2025 (before: 16000 IOPS and 1000 MiB/s), io2 is Block Express.
// Requests up to 256 KiB count as one. Amazon merges small sequential requests
// before it counts them, and the kernel's limit counts them one by one.
const (
	ebsUnit     = 256 << 10
	gibibyte    = 1 << 30
	gp2PerGiB   = 3
	gp2Least    = 100
	gp2Most     = 16000
	gp2Burst    = 3000
	gp2Credits  = 5.4e6 // a full bucket: half an hour of 3000 IOPS, had it no income
	gp2Small    = 170 * gibibyte
	gp2SmallMBs = 128 * MiB
	gp2MBs      = 250 * MiB
	gp3IOPS     = 3000
	gp3Most     = 80000
	gp3PerGiB   = 500
	gp3MBs      = 125
	gp3MostMBs  = 2000
	gp3PerIOPS  = 0.25 // MiB/s for each IOPS
	io1Most     = 64000
	io1PerGiB   = 50
	io2Most     = 256000
	io2PerGiB   = 1000
	ioLeast     = 100
	io2MostMBs  = 4000 * MiB
)

// premium is one size of Azure's Premium SSD: "Azure managed disk types" and
// "Managed disk bursting" of Microsoft's documentation. Up to P20 a disk
// saves what it does not use, and has credits for half an hour of 3500 IOPS
// and 170 MB/s in the beginning. Requests up to 256 KiB count as one.
type premium struct {
	name     string
	iops, mb float64 // MB: a million bytes
}

const (
	azureUnit     = 256 << 10
	azureBurst    = 3500
	azureBurstMB  = 170
	azureBurstFor = 1800 // s
)

func premiums() []premium {
	return []premium{
		{"p4", 120, 25}, {"p6", 240, 50}, {"p10", 500, 100}, {"p15", 1100, 125}, {"p20", 2300, 150},
		{"p30", 5000, 200}, {"p40", 7500, 250}, {"p50", 7500, 250},
	}
}

func (s premium) profile() Profile {
	p := Profile{Name: s.name, IOPS: Pace{Both: s.iops}, Bytes: Pace{Both: s.mb * 1e6}, Unit: azureUnit}
	if s.iops < azureBurst {
		p.Burst = &Burst{
			IOPS: azureBurst, Bytes: azureBurstMB * 1e6, Full: 1,
			Credits:     (azureBurst - s.iops) * azureBurstFor,
			ByteCredits: (azureBurstMB - s.mb) * 1e6 * azureBurstFor,
		}
	}
	return p
}

// hdd is a disk of 7200 turns a minute: half a turn and an average seek take
// some 8 ms.
func hdd() Profile {
	return Profile{
		Name: "hdd", IOPS: Pace{Both: 120}, Bytes: Pace{Both: 150 * MiB},
		Notes: []string{"the distance of seeks is not modelled: every request costs the same, so a sequential reader gets 120 requests a second too (15 MiB/s with the usual readahead of 128 KiB), and neighbouring writes gain nothing"},
	}
}

func gp2(size Bytes) Profile {
	gib := float64(size) / gibibyte
	p := Profile{
		Name: "gp2", IOPS: Pace{Both: math.Min(math.Max(math.Floor(gp2PerGiB*gib), gp2Least), gp2Most)},
		Bytes: Pace{Both: gp2MBs}, Unit: ebsUnit,
	}
	if size <= gp2Small {
		p.Bytes.Both = gp2SmallMBs
	}
	if p.IOPS.Both < gp2Burst {
		p.Burst = &Burst{IOPS: gp2Burst, Credits: gp2Credits, Full: 1}
	}
	return p
}

// io1 gives 256 KiB for each IOPS up to 500 MiB/s, and beyond 32000 IOPS
// 16 KiB for each.
func io1(iops float64) Profile {
	by := math.Max(math.Min(iops*ebsUnit, 500*MiB), iops*(16<<10))
	return Profile{Name: "io1", IOPS: Pace{Both: iops}, Bytes: Pace{Both: math.Min(by, 1000*MiB)}, Unit: ebsUnit}
}

func io2(iops float64) Profile {
	return Profile{Name: "io2", IOPS: Pace{Both: iops}, Bytes: Pace{Both: math.Min(iops*ebsUnit, io2MostMBs)}, Unit: ebsUnit}
}
