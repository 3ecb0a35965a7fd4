package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// ZFS is what is known of data that is or will be on ZFS. Zero is unknown.
type ZFS struct {
	Data        float64 // bytes before compression
	Record      float64 // recordsize
	Page        float64 // of the server
	Ratio       float64 // of compression
	RatioRecord float64 // the recordsize with which that was measured
	Sector      float64 // the least that is written to a device (ashift); 0 is 4 KiB
	Raidz       Raidz
	L2ARC       float64 // bytes of cache devices
	L2Stored    float64 // live: bytes on them now (l2_asize)
	L2Headers   float64 // live: memory that their headers take now (l2_hdr_size)
	Indirect    float64 // bytes of an indirect block; 0 is 128 KiB, of OpenZFS since 0.7
	ARC         float64 // bytes that it may take
	SmallBlocks float64 // special_small_blocks: what is no larger once it is packed goes to the special vdevs, besides metadata
	Copies      float64 // of metadata on disk: 2 with redundant_metadata=all; 0 is 2
}

// Raidz is a vdev of disks with parity. No parity is a mirror or a single disk, and no disks are an unknown vdev.
type Raidz struct{ Parity, Disks float64 }

// Figures of OpenZFS.
const (
	pointer     = 128.0 // bytes of a block pointer (blkptr_t)
	l2Header    = 96.0  // bytes of a record's header in memory while it is in the L2ARC alone (arc_buf_hdr_t up to b_l1hdr), on 64 bits, 0.7 to 2.4
	l2Most      = 0.33  // of the ARC that those headers may take: l2arc_meta_percent, since 2.0
	overhead    = 0.15  // dnodes, dbufs and what seed:zfs-arc-02 adds
	packed      = 0.5   // indirect blocks are packed by LZ4, to about half; measured by nobody on the host in question
	defaultNode = 128 << 10
	usualSector = 4096.0
	smallMost   = 0.75 // of a special vdev that may be in use for a small block to go there: zfs_special_class_metadata_reserve_pct keeps the rest
)

func (z ZFS) sector() float64 { return cmp.Or(z.Sector, usualSector) }

// levelBlocks counts the blocks of a file's tree by level, from the data up.
func levelBlocks(bytes, record, indirect float64) (levels []float64) {
	n := math.Ceil(bytes / record)
	levels = append(levels, n)
	for fan := indirect / pointer; n > 1; {
		n = math.Ceil(n / fan)
		levels = append(levels, n)
	}
	return levels
}

// Predict forecasts what the data needs of memory and devices.
func (z ZFS) Predict() Result {
	if !(z.Data > 0) {
		return refused("give its size before compression: zfs get logicalused, or --data", "the size of the data is not known")
	}
	if !(z.Record > 0) {
		return refused("give it with --recordsize, or read the host on which the dataset is", "the recordsize is not known")
	}
	indirect := cmp.Or(z.Indirect, defaultNode)
	levels := levelBlocks(z.Data, z.Record, indirect)
	inner := 0.0
	for _, n := range levels[1:] {
		inner += n
	}
	tree := inner * indirect
	r := Result{Model: "block pointers by the recordsize", Assumptions: []string{
		"the files are large and written as a whole: many small ones would also need a dnode each",
		fmt.Sprintf("an indirect block has %s and a pointer 128 bytes", units.Size(indirect)),
	}}
	arc := stats.Estimate{Value: tree * (1 + overhead), Low: tree * packed, High: tree * (1 + overhead)}
	r.add("arc_metadata", Bytes, arc, "%s × 128 bytes / %s, all levels, and 15 %% for dnodes and buffers; as little as half where indirect blocks stay packed in the ARC", units.Size(z.Data), units.Size(z.Record))
	z.special(&r, tree)
	if z.ARC > 0 {
		reads := z.reads()
		r.add("reads_per_miss", Count, between(reads, 1, reads), "the record, and the pointers to it that an ARC of %s has no room for; less where reads are uneven", units.Size(z.ARC))
	}
	z.stored(&r)
	z.l2arc(&r)
	z.headersFit(&r)
	z.page(&r)
	return r
}

func (r *Result) add(name, unit string, e stats.Estimate, how string, args ...any) {
	r.Values = append(r.Values, Value{Name: name, Unit: unit, Estimate: e, How: fmt.Sprintf(how, args...)})
}

// stored adds what the data takes on disk.
func (z ZFS) stored(r *Result) {
	if z.Ratio <= 0 {
		return
	}
	e, how := z.compressed()
	r.add("stored", Bytes, e, "%s", how)
	if z.RatioRecord != z.Record {
		r.Assumptions = append(r.Assumptions, "records of another size compress as well: smaller ones compress less")
	}
	if z.Raidz.Disks == 0 {
		r.Assumptions = append(r.Assumptions, "what raidz adds (parity, and padding of small records) is not included")
	}
	if z.Raidz.Parity > 0 {
		n := z.Data / z.Record
		a := stats.Estimate{Value: n * z.allocated(e.Value/n), Low: n * z.allocated(e.Low/n), High: n * z.allocated(e.High/n)}
		r.add("allocated", Bytes, a, "with parity and padding on raidz%.0f of %.0f disks: a mean record of %s takes %s of the pool",
			z.Raidz.Parity, z.Raidz.Disks, units.Measured(e.Value/n), units.Measured(z.allocated(e.Value/n)))
	}
}

// compressed is the data without parity and copies. Compression saves whole sectors only, which matters the more
// the smaller the records are; a ratio that was measured with this recordsize counts that already.
func (z ZFS) compressed() (stats.Estimate, string) {
	least, most := z.Data/z.Ratio, z.Data*max(1, z.sector()/z.Record)
	if most > z.Data {
		return stats.Exactly(most), fmt.Sprintf("each record of %s takes a sector of %s", units.Size(z.Record), units.Size(z.sector()))
	}
	if z.Record == z.RatioRecord {
		return stats.Exactly(least), fmt.Sprintf("packed by %.2f with this recordsize, whole sectors included", z.Ratio)
	}
	round := func(part float64) float64 { return min(most, least+part*z.sector()*z.Data/z.Record) }
	return between(round(0.5), least, round(1)),
		fmt.Sprintf("packed by %.2f, and half a sector of %s lost with each record of %s; no more is stored than there is", z.Ratio, units.Size(z.sector()), units.Size(z.Record))
}

// allocated is what raidz takes of a pool for a block, as vdev_raidz_asize has it: its sectors, parity for each row of
// them, and padding to a multiple of one more than the parity, so that no hole is too small to be used.
func (z ZFS) allocated(block float64) float64 {
	sectors, p := math.Ceil(block/z.sector()), z.Raidz.Parity
	sectors += p * math.Ceil(sectors/(z.Raidz.Disks-p))
	return z.sector() * (p + 1) * math.Ceil(sectors/(p+1))
}

// special adds what special vdevs hold.
func (z ZFS) special(r *Result, tree float64) {
	copies := cmp.Or(z.Copies, 2)
	e := between(copies*tree*packed, copies*tree*packed*(1-overhead), copies*tree)
	how := fmt.Sprintf("%.0f copies of the same blocks, packed; each device of a mirror needs as much, and twice that leaves room to grow", copies)
	if z.SmallBlocks > 0 {
		all := stats.Exactly(z.Data)
		if z.Ratio > 0 {
			all, _ = z.compressed()
		}
		with := stats.Estimate{Value: (e.Value + all.Value) / smallMost, Low: (e.Low + all.Low) / smallMost, High: (e.High + all.High) / smallMost}
		switch mean := z.Record / max(z.Ratio, 1); {
		case z.SmallBlocks >= z.Record:
			e, how = with, fmt.Sprintf("all of the data besides the metadata, because no record is larger than special_small_blocks, %s; a quarter is kept for metadata alone", units.Size(z.SmallBlocks))
		case z.SmallBlocks >= mean:
			e, how = between(with.Value, e.Low, with.High), fmt.Sprintf("most of the data besides the metadata: it is the packed size that must not pass special_small_blocks, %s, and the mean record is packed to %s", units.Size(z.SmallBlocks), units.Measured(mean))
		default:
			e.High = with.High
			how += fmt.Sprintf("; and records that are packed to %s or less (special_small_blocks), of which it is not known how many there are", units.Size(z.SmallBlocks))
		}
	}
	r.add("special_vdev", Bytes, e, "%s", how)
}

// l2arc adds the memory that the headers of an L2ARC take: by what they take now
// where that is known.
func (z ZFS) l2arc(r *Result) {
	if z.L2ARC <= 0 {
		return
	}
	if z.L2Stored > 0 && z.L2Headers > 0 {
		r.add("l2arc_headers", Bytes, within(z.L2ARC*z.L2Headers/z.L2Stored, 0.1), "the headers take %.2f %% of what is stored now", 100*z.L2Headers/z.L2Stored)
		return
	}
	stored := max(z.sector(), z.Record/max(z.Ratio, 1))
	most := z.L2ARC / stored * l2Header
	e := within(most, 0.2)
	if z.Ratio == 0 {
		e = between(most, most, 3*most)
		r.Warnings = append(r.Warnings, "the ratio of compression is not known: the better it is, the more records fit and the more headers there are")
	}
	r.add("l2arc_headers", Bytes, e, "96 bytes for each record of %s packed by %.2f", units.Size(z.Record), max(z.Ratio, 1))
	r.Assumptions = append(r.Assumptions, "the L2ARC fills with whole records of this dataset")
}

// headersFit says how much of the cache devices stays empty because their headers may take no more of the ARC.
func (z ZFS) headersFit(r *Result) {
	i := slices.IndexFunc(r.Values, func(v Value) bool { return v.Name == "l2arc_headers" })
	if i < 0 || z.ARC <= 0 || r.Values[i].Value <= l2Most*z.ARC {
		return
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("of the L2ARC only about %s are filled: its headers would take %s, and since OpenZFS 2.0 they may take 33 %% of the ARC (l2arc_meta_percent), %s of %s; before that they left that much less for data",
		units.Measured(z.L2ARC*l2Most*z.ARC/r.Values[i].Value), units.Measured(r.Values[i].Value), units.Measured(l2Most*z.ARC), units.Size(z.ARC)))
}

// page adds what a page of the server that is not a record costs.
func (z ZFS) page(r *Result) {
	if z.Page <= 0 {
		return
	}
	read := max(z.Record, z.Page) / z.Page
	r.add("read_amplification", Count, stats.Exactly(read), "a miss of a page of %s reads whole records of %s", units.Size(z.Page), units.Size(z.Record))
	write := read
	how := "a changed page rewrites its record"
	if z.Record > z.Page {
		how += ", and reads it first if it is not in the ARC"
	}
	r.add("write_amplification", Count, between(write, 1, write), "%s; less where neighbours change in the same transaction group", how)
}

// reads is how many reads of the volume a read of one record takes that nothing
// holds: the record, and each level of pointers that is not in memory.
func (z ZFS) reads() float64 {
	arc := z.ARC
	indirect := cmp.Or(z.Indirect, defaultNode)
	levels := levelBlocks(z.Data, z.Record, indirect)
	reads := 1.0
	for i := len(levels) - 1; i > 0; i-- { // the upper levels are read most, and so stay
		need := levels[i] * indirect * (1 + overhead)
		reads += 1 - min(1, max(0, arc)/need)
		arc -= need
	}
	return reads
}
