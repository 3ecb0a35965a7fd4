package disk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/units"
)

// How much of either end is looked through for what it is, once it is known not to be zero. Larger
// than all labels that stand at fixed places.
const labels = 1 << 20

// stretch is a part of a disk.
type stretch struct{ at, bytes int64 }

// parts are those that must be zero: both ends, and the copy of btrfs's superblock that
// outlives a wiped beginning.
func (d Disk) parts() []stretch {
	head, tail := d.ends()
	all := []stretch{{0, head}, {d.Size - tail, tail}}
	if d.Size >= secondBtrfs+superblock {
		all = append(all, stretch{secondBtrfs, superblock})
	}
	return all
}

// content proves that the parts are zero, and says what is there where they are not.
func (l *look) content() error {
	if l.d.Size <= 0 {
		return errors.New("the kernel does not report its size")
	}
	for _, p := range l.d.parts() {
		at, err := firstByte(l.ctx, l.h, l.d.Node, p.at, p.bytes)
		if err != nil {
			return err
		}
		l.d.Read += p.bytes
		if at >= 0 {
			l.d.On = append(l.d.On, fmt.Sprintf("the byte at %d is not zero", at))
		}
	}
	if len(l.d.On) == 0 {
		return nil
	}
	found, err := l.signatures()
	if err != nil {
		return err
	}
	if len(found) > 0 { // what it is says more than where
		kept := found
		for _, on := range l.d.On {
			if strings.Contains(on, "partition: ") || strings.Contains(on, "partitions: ") {
				kept = append(kept, on)
			}
		}
		l.d.On = kept
	}
	return nil
}

// signatures reads the places at which somebody writes what a disk is.
func (l *look) signatures() ([]string, error) {
	n := min(int64(labels), l.d.Size)
	head, err := bytesOf(l.ctx, l.h, l.d.Node, 0, n)
	if err != nil {
		return nil, err
	}
	tail, err := bytesOf(l.ctx, l.h, l.d.Node, l.d.Size-n, n)
	if err != nil {
		return nil, err
	}
	found := signaturesIn(head, tail, l.d.Size)
	l.d.Read += 2 * n
	if l.d.Size >= secondBtrfs+superblock {
		copied, err := bytesOf(l.ctx, l.h, l.d.Node, secondBtrfs, superblock)
		if err != nil {
			return nil, err
		}
		l.d.Read += superblock
		if string(copied[64:72]) == btrfsMagic {
			found = append(found, "the second superblock of btrfs")
		}
	}
	return found, nil
}

var differs = regexp.MustCompile(`differ: (?:byte|char) ([0-9]+)`)

// firstByte finds the first byte that is not zero in a part of a device: -1 when there is none.
func firstByte(ctx context.Context, h host.Reader, node string, from, length int64) (int64, error) {
	out, err := h.Output(ctx, "cmp", "-n", strconv.FormatInt(length, 10), "-i", fmt.Sprintf("0:%d", from), "/dev/zero", node)
	if err == nil {
		return -1, nil
	}
	m := differs.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("compare %s with zeros: %w", units.Bytes(length), err)
	}
	n, convErr := strconv.ParseInt(string(m[1]), 10, 64)
	if convErr != nil || n < 1 || n > length {
		return 0, fmt.Errorf("compare %s with zeros: %w", units.Bytes(length), err)
	}
	return from + n - 1, nil
}

// bytesOf reads a part of a device. It comes as hex: what a disk holds must not be
// taken for a text in which secrets are looked for.
func bytesOf(ctx context.Context, h host.Reader, node string, from, length int64) ([]byte, error) {
	out, err := h.Output(ctx, "od", "-An", "-v", "-tx1", "-w128", "-j", strconv.FormatInt(from, 10), "-N", strconv.FormatInt(length, 10), node)
	if err != nil {
		return nil, err
	}
	text := strings.NewReplacer(" ", "", "\n", "").Replace(string(out))
	data, err := hex.DecodeString(text)
	if err != nil || int64(len(data)) != length {
		return nil, fmt.Errorf("read %s from byte %d: %d bytes came: %w", units.Bytes(length), from, len(data), errors.Join(err, errShort))
	}
	return data, nil
}

var errShort = errors.New("the disk is shorter than the kernel says, or does not answer")
