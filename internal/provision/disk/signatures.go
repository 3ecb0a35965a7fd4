package disk

import (
	"bytes"
	"encoding/binary"
	"slices"

	"plumb/internal/units"
)

const (
	btrfsMagic  = "_BHRfS_M"
	secondBtrfs = 64 << 20 // bytes
	superblock  = 4 << 10  // bytes, of btrfs
)

// signature is what stands at a fixed place. A negative place counts from the end.
type signature struct {
	at   int64
	text string
	what string
}

var signatures = []signature{
	{0, "XFSB", "XFS"},
	{1080, "\x53\xef", "ext2, ext3 or ext4"},
	{65600, btrfsMagic, "btrfs"},
	{4086, "SWAPSPACE2", "swap"}, {4086, "SWAP-SPACE", "swap"}, {8182, "SWAPSPACE2", "swap"}, {16374, "SWAPSPACE2", "swap"}, {65526, "SWAPSPACE2", "swap"},
	{4086, "S1SUSPEND", "a suspended machine's memory"}, {4086, "ULSUSPEND", "a suspended machine's memory"},
	{0, "LABELONE", "LVM"}, {512, "LABELONE", "LVM"}, {1024, "LABELONE", "LVM"}, {1536, "LABELONE", "LVM"},
	{0, "LUKS\xba\xbe", "LUKS"}, {16 << 10, "SKUL\xba\xbe", "the second header of LUKS"}, {32 << 10, "SKUL\xba\xbe", "the second header of LUKS"}, {64 << 10, "SKUL\xba\xbe", "the second header of LUKS"},
	{0, "\xfc\x4e\x2b\xa9", "md RAID 1.1"}, {4096, "\xfc\x4e\x2b\xa9", "md RAID 1.2"},
	{512, "EFI PART", "a GPT"}, {4096, "EFI PART", "a GPT"},
	{-512, "EFI PART", "the second GPT, at the end"}, {-4096, "EFI PART", "the second GPT, at the end"},
	{510, "\x55\xaa", "an MBR or a boot sector"},
	{3, "NTFS    ", "NTFS"}, {3, "EXFAT   ", "exFAT"}, {54, "FAT1", "FAT"}, {82, "FAT32", "FAT"}, {3, "-FVE-FS-", "BitLocker"},
	{1024, "\x10\x20\xf5\xf2", "F2FS"}, {32769, "CD001", "ISO 9660"}, {32768, "JFS1", "JFS"}, {65588, "ReIsEr", "ReiserFS"}, {0, "hsqs", "squashfs"},
	{0, "bluestore block device", "Ceph"}, {0, "dmvdo001", "VDO"}, {4096 + 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "bcache"}, {4096 + 24, "\xc6\x85\x73\xf6\x66\xce\x90\xa9", "bcachefs"},
	{-4096 + 60, "\x83\x74\x02\x6b", "DRBD"}, {-512, "\xde\x11\xde\x11", "a RAID of its controller (DDF)"}, {-1024, "Intel Raid ISM Cfg Sig.", "a RAID of its controller (Intel)"},
}

// signaturesIn says what is on a disk of a size, from its first and last bytes. Of one
// of which no signature is known it says nothing: that it is not zero, is told by reading it.
func signaturesIn(head, tail []byte, size int64) (all []string) {
	has := func(at int64, text string) bool {
		from := at
		if at < 0 {
			from = int64(len(tail)) + at
			return from >= 0 && bytes.HasPrefix(tail[from:], []byte(text))
		}
		return from < int64(len(head)) && bytes.HasPrefix(head[from:], []byte(text))
	}
	for _, s := range signatures {
		if has(s.at, s.text) && !slices.Contains(all, s.what) {
			all = append(all, s.what)
		}
	}
	start := size - int64(len(tail)) // of the tail
	inTail := func(at int64, text string) bool { return at >= start && at < size && has(at-size, text) }
	if at := (size/512 - 16) &^ 7 * 512; inTail(at, "\xfc\x4e\x2b\xa9") {
		all = append(all, "md RAID 1.0, at the end")
	}
	if at := size&^(64<<10-1) - 64<<10; inTail(at, "\xfc\x4e\x2b\xa9") || inTail(at, "\xa9\x2b\x4e\xfc") {
		all = append(all, "md RAID 0.90, at the end")
	}
	if n := zfsLabels(head, tail, size); n > 0 {
		all = append(all, units.Count(n, "label")+" of ZFS")
	}
	return all
}

// Of a label of ZFS, 256 KiB: the pool's description is an XDR list after 16 KiB, and
// in its second half are 128 KiB of uberblocks.
const (
	label       = 256 << 10
	uberblock   = 0x00bab10c
	description = "pool_guid"
)

// zfsLabels counts the labels of ZFS: two at the head, two before the end of what is left of the
// size in whole labels.
func zfsLabels(head, tail []byte, size int64) (n int) {
	end := size &^ (label - 1)
	for i := range int64(2) {
		if isLabel(part(head, i*label, label)) {
			n++
		}
		if isLabel(part(tail, end-(2-i)*label-(size-int64(len(tail))), label)) {
			n++
		}
	}
	return n
}

func part(of []byte, at, length int64) []byte {
	if at < 0 || at+length > int64(len(of)) {
		return nil
	}
	return of[at : at+length]
}

func isLabel(text []byte) bool {
	if len(text) < label {
		return false
	}
	if bytes.Contains(text[16<<10:128<<10], []byte(description)) {
		return true
	}
	for at := 128 << 10; at < label; at += 1 << 10 {
		if binary.LittleEndian.Uint64(text[at:]) == uberblock || binary.BigEndian.Uint64(text[at:]) == uberblock {
			return true
		}
	}
	return false
}
