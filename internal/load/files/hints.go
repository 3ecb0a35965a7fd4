package files

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/host/scratch"
	"plumb/internal/units"
)

// Bounds of what a device can do. Flash without power-loss protection needs
// 0.9 to 10 ms to make a write durable, with it 12 to 58 µs (measured
// 2026-01, smalldatum); a disk of 15000 turns a minute needs 2 ms for half a
// turn.
const (
	fastFlash  = 200 * time.Microsecond
	fastDisk   = 2 * time.Millisecond
	fewFlushes = 0.5 // for each fsync of a single writer
	fewBytes   = 0.9 // written by the disk for each byte asked
)

// hints says what speaks for and against believing the fsyncs of a place.
func hints(place scratch.Place, rows []FsyncMeasured) (all []Hint) {
	add := func(doubt bool, kind, format string, args ...any) {
		all = append(all, Hint{kind, fmt.Sprintf(format, args...), doubt})
	}
	if place.Type == "tmpfs" || place.Type == "ramfs" {
		add(true, "memory", "%s is in memory: nothing here survives a reboot", place.Type)
		return all
	}
	if place.Doubt != "" {
		add(false, "unseen", "%s; so what reached the disk could not be compared", place.Doubt)
	}
	for _, d := range place.Disks {
		switch {
		case d.WriteCache == "write through" && d.Virtual:
			add(false, "write-through", "%s reports no volatile write cache, so the kernel sends it no flushes; it is a virtual disk, and only its host knows whether that is true", d.Name)
		case d.WriteCache == "write through":
			add(false, "write-through", "%s reports no volatile write cache, so the kernel sends it no flushes: right for a disk with power-loss protection or a protected controller, but data loss if somebody set it by hand (queue/write_cache)", d.Name)
		case d.Virtual:
			add(false, "virtual", "%s is a virtual disk: flushes were sent to its host, and what the host does with them cannot be seen from here (cache=unsafe drops them)", d.Name)
		}
	}
	single, known := alone(rows)
	if !known {
		return all
	}
	return append(all, measuredHints(place, single)...)
}

// alone finds the row of one writer that writes over what is there and calls
// fdatasync: the plainest one.
func alone(rows []FsyncMeasured) (FsyncMeasured, bool) {
	for _, by := range []string{ByFdatasync, ByFsync} {
		for _, m := range rows {
			r := m.Row
			if m.Err == nil && m.Summary.N > 0 && r.By == by && r.Threads == 1 && r.PageWriters == 0 && !r.Append && r.WriteBytes <= 16384 {
				return m, true
			}
		}
	}
	return FsyncMeasured{}, false
}

func measuredHints(place scratch.Place, m FsyncMeasured) (all []Hint) {
	names, writeBack, rotational := diskNames(place.Disks)
	if m.Flushes != nil {
		seen := fmt.Sprintf("%s calls of %s gave %.2f flushes each at %s", units.Grouped(m.Summary.N), m.Row.By, *m.Flushes, names)
		switch {
		case *m.Flushes >= fewFlushes:
			all = append(all, Hint{"flushes", seen + ": they are passed on to the disk", false})
		case writeBack:
			all = append(all, Hint{"no-flushes", seen + ", which has a volatile write cache: something between drops them (a mount option such as nobarrier, a layer, a filesystem setting)", true})
		default:
			all = append(all, Hint{"no-flushes", seen + ", which reports that it needs none", false})
		}
	}
	if m.Written != nil && *m.Written < fewBytes {
		all = append(all, Hint{"not-written", fmt.Sprintf("%s wrote %.2f bytes for each byte that was written durably: the rest was not on the disk when %s returned, or was compressed", names, *m.Written, m.Row.By), true})
	}
	p50 := m.Summary.P50
	switch {
	case rotational && p50 < fastDisk:
		all = append(all, Hint{"too-fast", fmt.Sprintf("the median %s took %s, but a rotating disk needs some milliseconds: there is a protected write cache, or the data were not on the disk", m.Row.By, units.Latency(p50)), true})
	case !rotational && p50 < fastFlash:
		all = append(all, Hint{"too-fast", fmt.Sprintf("the median %s took %s; flash without power-loss protection needs about a millisecond or more: either the disk has that protection (see its data sheet), or a cache in front of it answered", m.Row.By, units.Latency(p50)), true})
	}
	return all
}

func diskNames(disks []scratch.Disk) (names string, writeBack, rotational bool) {
	var all []string
	for _, d := range disks {
		all = append(all, d.Name)
		writeBack = writeBack || d.WriteCache == "write back"
		rotational = rotational || d.Rotational && !d.Virtual // virtual disks say so by default
	}
	return strings.Join(all, ", "), writeBack, rotational
}
