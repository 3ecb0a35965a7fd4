package zfs

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// Head is what the beginning of a stream of zfs send says of it.
type Head struct {
	To    string // GUID of the snapshot that it makes
	Raw   bool   // it is encrypted, as its blocks are
	Files bool   // it is of a filesystem: one of a volume makes a device
}

// HeadBytes is how much of a stream ParseHead reads.
const HeadBytes = 56

const (
	streamMagic = 0x2F5bacbac // DMU_BACKUP_MAGIC
	filesystem  = 2           // DMU_OST_ZFS
	rawFeature  = 2 + 24      // bit of DMU_BACKUP_FEATURE_RAW in drr_versioninfo, whose feature flags begin at bit 2
)

// ParseHead reads the record with which the stream of one snapshot begins (struct drr_begin, in zfs_ioctl.h). Its numbers
// are in the order of the machine that sends.
func ParseHead(stream []byte) (Head, error) {
	if len(stream) < HeadBytes {
		return Head{}, errors.New("the stream ends in its first record")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint64(stream[8:]) != streamMagic {
		order = binary.BigEndian
	}
	version := order.Uint64(stream[16:])
	if order.Uint32(stream) != 0 || order.Uint64(stream[8:]) != streamMagic || version&3 != 1 { // no DRR_BEGIN of a DMU_SUBSTREAM
		return Head{}, errors.New("it is not a stream of one snapshot")
	}
	return Head{To: strconv.FormatUint(order.Uint64(stream[40:]), 10), Raw: version>>rawFeature&1 == 1, Files: order.Uint32(stream[32:]) == filesystem}, nil
}
