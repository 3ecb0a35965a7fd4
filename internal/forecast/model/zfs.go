package model

import (
	"fmt"
	"math"

	"plumb/internal/stats"
)

// ZFS is what is known of data that is or will be on ZFS. Zero is unknown.
type ZFS struct {
	Data       float64 // bytes before compression
	Record     float64 // recordsize
	Page       float64 // of the server
	Ratio      float64 // of compression
	L2ARC      float64 // bytes of cache devices
	L2Stored   float64 // live: bytes on them now (l2_asize)
	L2Headers  float64 // live: memory that their headers take now (l2_hdr_size)
	Indirect   float64 // bytes of an indirect block; 0 is 128 KiB, of OpenZFS since 0.7
	ARC        float64 // bytes that it may take
	SmallBytes float64 // of blocks that are small enough for a special vdev, besides metadata
	Copies     float64 // of metadata on disk: 2 with redundant_metadata=all; 0 is 2
}

// Figures of OpenZFS.
const (
	pointer     = 128.0 // bytes of a block pointer (blkptr_t)
	l2Header    = 96.0  // bytes of a record's header in memory while it is in the L2ARC alone, on 64 bits, 0.7 to 2.4
	overhead    = 0.15  // dnodes, dbufs and what seed:zfs-arc-02 adds
	packed      = 0.5   // indirect blocks are packed by LZ4, to about half; measured by nobody on the host in question
	defaultNode = 128 << 10
	sector      = 4096.0 // ashift=12
)

// Blocks counts the blocks of a file's tree by level, from the data up.
func Blocks(bytes, record, indirect float64) (levels []float64) {
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
		return refused("give its size before compression: zfs get logicalused, or --data", "how much data there is is not known")
	}
	if !(z.Record > 0) {
		return refused("give it with --recordsize, or read the host on which the dataset is", "the recordsize is not known")
	}
	indirect := z.Indirect
	if indirect == 0 {
		indirect = defaultNode
	}
	levels := Blocks(z.Data, z.Record, indirect)
	inner := 0.0
	for _, n := range levels[1:] {
		inner += n
	}
	tree := inner * indirect
	r := Result{Model: "block pointers by the recordsize", Assumptions: []string{
		"the files are large and written whole: many small ones need a dnode each besides",
		fmt.Sprintf("an indirect block has %s and a pointer 128 bytes", size(indirect)),
	}}
	arc := stats.Estimate{Value: tree * (1 + overhead), Low: tree * packed, High: tree * (1 + overhead)}
	r.add("arc_metadata", Bytes, arc, "%s × 128 bytes / %s, all levels, and 15 %% for dnodes and buffers; as little as half where indirect blocks stay packed in the ARC", size(z.Data), size(z.Record))
	copies := z.Copies
	if copies == 0 {
		copies = 2
	}
	r.add("special_vdev", Bytes, between(copies*tree*packed+z.SmallBytes, copies*tree*packed*(1-overhead)+z.SmallBytes, copies*tree+z.SmallBytes),
		"%.0f copies of the same blocks, packed; each device of a mirror needs as much, and twice that leaves room to grow", copies)
	if z.ARC > 0 {
		reads := z.reads()
		r.add("reads_per_miss", Count, between(reads, 1, reads), "the record, and the pointers to it that an ARC of %s has no room for; less where reads are uneven", size(z.ARC))
	}
	z.stored(&r)
	z.l2arc(&r)
	z.page(&r)
	return r
}

func (r *Result) add(name, unit string, e stats.Estimate, how string, args ...any) {
	r.Values = append(r.Values, Value{Name: name, Unit: unit, Estimate: e, How: fmt.Sprintf(how, args...)})
}

// stored adds what the data takes on disk: compression saves whole sectors only,
// which matters the more the smaller the records are.
func (z ZFS) stored(r *Result) {
	if z.Ratio <= 0 {
		return
	}
	least, most := z.Data/z.Ratio, z.Data*max(1, sector/z.Record)
	if most > z.Data {
		r.add("stored", Bytes, stats.Exactly(most), "each record of %s takes a sector of 4K (ashift=12)", size(z.Record))
		return
	}
	round := func(part float64) float64 { return min(most, least+part*sector*z.Data/z.Record) }
	r.add("stored", Bytes, between(round(0.5), least, round(1)), "packed by %.2f, and half a sector of 4K lost with each record of %s; no more is stored than there is", z.Ratio, size(z.Record))
	r.Assumptions = append(r.Assumptions, "records of another size are packed as well: smaller ones are packed worse",
		"the vdevs are mirrors or single disks: raidz pads small records besides")
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
	ratio := max(z.Ratio, 1)
	most := z.L2ARC / (z.Record / ratio) * l2Header
	e := within(most, 0.2)
	if z.Ratio == 0 {
		e = between(z.L2ARC/z.Record*l2Header, z.L2ARC/z.Record*l2Header, 3*z.L2ARC/z.Record*l2Header)
		r.Warnings = append(r.Warnings, "the ratio of compression is not known: the better it is, the more records fit and the more headers there are")
	}
	r.add("l2arc_headers", Bytes, e, "96 bytes for each record of %s packed by %.2f", size(z.Record), ratio)
	r.Assumptions = append(r.Assumptions, "the L2ARC fills with whole records of this dataset")
}

// page adds what a page of the server that is not a record costs.
func (z ZFS) page(r *Result) {
	if z.Page <= 0 {
		return
	}
	read := max(z.Record, z.Page) / z.Page
	r.add("read_amplification", Count, stats.Exactly(read), "a miss of a page of %s reads whole records of %s", size(z.Page), size(z.Record))
	write := read
	how := "a changed page rewrites its record"
	if z.Record > z.Page {
		how += ", and reads it first when it is not in the ARC"
	}
	r.add("write_amplification", Count, between(write, 1, write), "%s; less where neighbours change in the same transaction group", how)
}

// reads is how many reads of the volume a read of one record takes that nothing
// holds: the record, and each level of pointers that is not in memory.
func (z ZFS) reads() float64 {
	arc := z.ARC
	indirect := z.Indirect
	if indirect == 0 {
		indirect = defaultNode
	}
	levels := Blocks(z.Data, z.Record, indirect)
	reads := 1.0
	for i := len(levels) - 1; i > 0; i-- { // the upper levels are read most, and so stay
		need := levels[i] * indirect * (1 + overhead)
		reads += 1 - min(1, max(0, arc)/need)
		arc -= need
	}
	return reads
}
