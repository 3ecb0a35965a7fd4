package btrfs

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
)

// Origin is by what a snapshot is known in streams, and where one was received: no other has its UUID, and once
// somebody writes to it, its generation is another.
type Origin struct {
	UUID       string
	Generation uint64 // in which it was last written to (ctransid)
}

// String writes it as ParseOrigin reads it.
func (o Origin) String() string { return o.UUID + ":" + strconv.FormatUint(o.Generation, 10) }

// ParseOrigin reads an origin.
func ParseOrigin(text string) (Origin, error) {
	uuid, number, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || !IsUUID(uuid) {
		return Origin{}, fmt.Errorf("%.100q is not a UUID and a generation of a snapshot", text)
	}
	return Origin{uuid, n}, nil
}

// IsUUID tells whether a text is a UUID as btrfs writes it.
func IsUUID(text string) bool {
	b, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	return err == nil && len(b) == 16 && uuidOf(b) == text
}

func uuidOf(b []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// The format of streams, version 1: a magic word and a number, then commands, each with attributes.
const (
	magic       = "btrfs-stream\x00"
	streamHead  = len(magic) + 4
	commandHead = 10
	// longestCommand is what btrfs puts into one, in bytes (BTRFS_SEND_BUF_SIZE_V1).
	longestCommand = 64 << 10
	longestPath    = 4 << 10
)

// Commands that need a look of their own, and the last of version 1.
const (
	cmdSubvolume    = 1
	cmdSnapshot     = 2
	cmdLink         = 10
	cmdRename       = 9
	cmdClone        = 16
	cmdEnd          = 21
	cmdUpdateExtent = 22
)

// Attributes.
const (
	attrUUID            = 1
	attrGeneration      = 2
	attrPath            = 15
	attrPathTo          = 16
	attrPathLink        = 17
	attrCloneUUID       = 20
	attrCloneGeneration = 21
	attrClonePath       = 22
	lastAttribute       = 24
)

// ErrOther is the error of a stream that is not of the snapshots that are meant.
var ErrOther = errors.New("it is not the stream that was meant")

// attributes are those of one command; nil for one that it does not have.
type attributes [lastAttribute + 1][]byte

// Sieve passes a stream of one snapshot on, command by command, each after it was looked at. `btrfs receive` does as root
// what a stream says, and believes every path in it. What gets through is of the snapshot that is meant, begins at
// the one that is meant, names no path that leads out of it, takes no data from other subvolumes, and ends where a
// stream ends: one that is cut between two commands is whole to `btrfs receive`.
type Sieve struct {
	Out  io.Writer
	Of   Origin // Generation is 0 when it is not known before
	From Origin // that it begins at; zero for none
	// Name is what the subvolume is called in what is passed on: no name that a stream brings is used.
	// "" leaves it as it is.
	Name string

	buf         []byte
	head, begun bool
	ended       bool
	err         error
}

// Write implements io.Writer. After an error nothing more is passed on.
func (s *Sieve) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	s.buf = append(s.buf, p...)
	if s.err = s.pass(); s.err != nil {
		return 0, s.err
	}
	return len(p), nil
}

// Close tells whether all has gone by.
func (s *Sieve) Close() error {
	if s.err == nil && (!s.ended || len(s.buf) > 0) {
		s.err = errors.New("the stream of btrfs ends before its end")
	}
	return s.err
}

// pass passes on the commands that are there whole.
func (s *Sieve) pass() error {
	done := 0
	for {
		n, instead, err := s.next(s.buf[done:])
		if err != nil {
			return fmt.Errorf("a stream of btrfs: %w", err)
		}
		if n == 0 {
			break
		}
		if instead != nil {
			if _, err := s.Out.Write(s.buf[:done]); err != nil {
				return err
			}
			if _, err := s.Out.Write(instead); err != nil {
				return err
			}
			s.buf, done, n = s.buf[done+n:], 0, 0
		}
		done += n
	}
	if done > 0 {
		if _, err := s.Out.Write(s.buf[:done]); err != nil {
			return err
		}
	}
	s.buf = append(s.buf[:0], s.buf[done:]...)
	return nil
}

// next looks at what comes next. It gives how many bytes that are, 0 while it is not there whole, and what
// is passed on instead, nil for the same.
func (s *Sieve) next(b []byte) (n int, instead []byte, err error) {
	switch {
	case len(b) == 0:
		return 0, nil, nil
	case s.ended:
		return 0, nil, errors.New("something comes after its end")
	case !s.head:
		return s.beginning(b)
	case len(b) < commandHead:
		return 0, nil, nil
	}
	size := uint64(binary.LittleEndian.Uint32(b)) + commandHead
	if size > longestCommand+commandHead {
		return 0, nil, fmt.Errorf("a command of %d bytes", size)
	}
	if uint64(len(b)) < size {
		return 0, nil, nil
	}
	b = b[:size]
	if sum(b) != binary.LittleEndian.Uint32(b[6:]) {
		return 0, nil, errors.New("the checksum of a command is wrong")
	}
	a, err := parseAttributes(b[commandHead:])
	if err != nil {
		return 0, nil, err
	}
	cmd := binary.LittleEndian.Uint16(b[4:])
	if !s.begun {
		if err := s.meant(cmd, a); err != nil || s.Name == "" {
			return len(b), nil, err
		}
		return len(b), renamed(b, s.Name), nil
	}
	return len(b), nil, s.allowed(cmd, a)
}

// beginning looks at what stands before the first command.
func (s *Sieve) beginning(b []byte) (int, []byte, error) {
	if part := b[:min(len(b), len(magic))]; string(part) != magic[:len(part)] {
		return 0, nil, errors.New("it is not one")
	}
	if len(b) < streamHead {
		return 0, nil, nil
	}
	if v := binary.LittleEndian.Uint32(b[len(magic):]); v != 1 {
		return 0, nil, fmt.Errorf("it is of version %d, and Plumb sends and receives version 1", v)
	}
	s.head = true
	return streamHead, nil, nil
}

// meant tells whether a stream begins as the one that is meant.
func (s *Sieve) meant(cmd uint16, a *attributes) error {
	if cmd != cmdSubvolume && cmd != cmdSnapshot {
		return fmt.Errorf("it begins with command %d, and not with a subvolume", cmd)
	}
	of, err := origin(a[attrUUID], a[attrGeneration])
	var from Origin
	if err == nil && cmd == cmdSnapshot {
		from, err = origin(a[attrCloneUUID], a[attrCloneGeneration])
	}
	if err != nil {
		return err
	}
	name := string(a[attrPath])
	switch {
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		return fmt.Errorf("%.100q is not a subvolume name", name)
	case of.UUID != s.Of.UUID || s.Of.Generation != 0 && of.Generation != s.Of.Generation:
		return fmt.Errorf("%w: it is of the snapshot %s, and %s was meant", ErrOther, of, s.Of)
	case from != s.From && from == Origin{}:
		return fmt.Errorf("%w: it is a whole snapshot, and was to begin at %s", ErrOther, s.From)
	case from != s.From && s.From == Origin{}:
		return fmt.Errorf("%w: it begins at the snapshot %s, and was to be whole", ErrOther, from)
	case from != s.From:
		return fmt.Errorf("%w: it begins at the snapshot %s, and was to begin at %s", ErrOther, from, s.From)
	}
	s.Of, s.begun = of, true
	return nil
}

// allowed tells what of a command no stream of one snapshot says.
func (s *Sieve) allowed(cmd uint16, a *attributes) error {
	paths := [][]byte{a[attrPath]}
	switch {
	case cmd == cmdEnd:
		s.ended = true
		return nil
	case cmd == cmdSubvolume || cmd == cmdSnapshot:
		return errors.New("it holds a second subvolume")
	case cmd == cmdUpdateExtent:
		return errors.New("it holds no data: it was made with --no-data")
	case cmd == 0 || cmd > cmdUpdateExtent:
		return fmt.Errorf("command %d, which version 1 does not have", cmd)
	case a[attrPath] == nil:
		return fmt.Errorf("command %d names no path", cmd)
	case cmd == cmdRename:
		paths = append(paths, a[attrPathTo])
	case cmd == cmdLink:
		paths = append(paths, a[attrPathLink])
	case cmd == cmdClone:
		from, err := origin(a[attrCloneUUID], a[attrCloneGeneration])
		if err != nil {
			return err
		}
		if from != s.Of && from != s.From {
			return fmt.Errorf("it takes data from the subvolume %s", from)
		}
		paths = append(paths, a[attrClonePath])
	}
	for _, p := range paths {
		if !within(p) {
			return fmt.Errorf("the path %.200q leads out of it", p)
		}
	}
	return nil
}

// within tells whether a path stays in the subvolume, as long as no link leads it out: chroot sees to that.
func within(name []byte) bool {
	if len(name) > longestPath || bytes.IndexByte(name, 0) >= 0 || bytes.HasPrefix(name, []byte("/")) {
		return false
	}
	for part := range bytes.SplitSeq(name, []byte("/")) {
		if string(part) == ".." {
			return false
		}
	}
	return true
}

func origin(uuid, generation []byte) (Origin, error) {
	if len(uuid) != 16 || len(generation) != 8 {
		return Origin{}, errors.New("it does not say which snapshot it is of")
	}
	return Origin{uuidOf(uuid), binary.LittleEndian.Uint64(generation)}, nil
}

// parseAttributes reads what follows the head of a command.
func parseAttributes(b []byte) (*attributes, error) {
	var all attributes
	for len(b) > 0 {
		if len(b) < 4 {
			return nil, errors.New("an attribute is cut")
		}
		kind, n := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		if b = b[4:]; n > len(b) {
			return nil, errors.New("an attribute is cut")
		}
		if kind == 0 || kind > lastAttribute || all[kind] != nil {
			return nil, fmt.Errorf("attribute %d is not known, or is there twice", kind)
		}
		all[kind], b = b[:n:n], b[n:]
	}
	return &all, nil
}

// renamed gives the first command with another name of the subvolume.
func renamed(command []byte, name string) []byte {
	b := bytes.Clone(command[:commandHead])
	for rest := command[commandHead:]; len(rest) > 0; {
		n := 4 + int(binary.LittleEndian.Uint16(rest[2:]))
		if binary.LittleEndian.Uint16(rest) == attrPath {
			b = binary.LittleEndian.AppendUint16(b, attrPath)
			b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
			b = append(b, name...)
		} else {
			b = append(b, rest[:n]...)
		}
		rest = rest[n:]
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-commandHead))
	binary.LittleEndian.PutUint32(b[6:], sum(b))
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the checksum of a command, in which itself counts as 0. The kernel's crc32c inverts nothing.
func sum(b []byte) uint32 {
	c := crc32.Update(^uint32(0), castagnoli, b[:6])
	c = crc32.Update(c, castagnoli, []byte{0, 0, 0, 0})
	return ^crc32.Update(c, castagnoli, b[commandHead:])
}
