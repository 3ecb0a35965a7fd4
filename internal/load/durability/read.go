package durability

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
)

// Noted is what a ledger holds.
type Noted struct {
	Header  Header
	Records int64 // whole and of this run, to the last that is
	Torn    int64 // bytes after the last whole record: written in part when the machine died
	Damaged int64 // records that are not whole, with whole ones after them: the ledger's own disk is at fault
	acks    numbers
}

// Acknowledged is how many different operations were acknowledged.
func (n *Noted) Acknowledged() int64 { return n.acks.count }

// Read reads a ledger.
func Read(path string) (*Noted, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	defer f.Close()
	n, err := readFrom(f)
	if err != nil {
		return nil, fmt.Errorf("read the ledger %s: %w", path, err)
	}
	return n, nil
}

// readFrom reads a ledger from a stream.
func readFrom(in io.Reader) (*Noted, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(r, head); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errNoBook
		}
		return nil, err
	}
	h, err := parseHeader(head)
	if err != nil {
		return nil, err
	}
	n := &Noted{Header: h, acks: numbers{pages: map[int64]*page{}}}
	var record [recordSize]byte
	for place, bad := uint32(0), int64(0); ; place++ {
		got, err := io.ReadFull(r, record[:])
		if got < recordSize {
			n.Torn = bad*recordSize + int64(got)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = nil
			}
			return n, err
		}
		number, ok := parseRecord(record[:], h.Run, place)
		if !ok {
			bad++
			continue
		}
		n.Records += bad + 1
		n.Damaged, bad = n.Damaged+bad, 0
		n.acks.add(number)
	}
}

// numbers is a set of numbers that mostly follow each other: a bit each.
type numbers struct {
	pages map[int64]*page
	count int64
}

type page [1024]uint64 // bits of 65536 numbers

func (s *numbers) add(n int64) {
	p := s.pages[n>>16]
	if p == nil {
		p = new(page)
		s.pages[n>>16] = p
	}
	word, bit := &p[n>>6&1023], uint64(1)<<(n&63)
	if *word&bit == 0 {
		*word |= bit
		s.count++
	}
}

// take removes a number and says whether it was there.
func (s *numbers) take(n int64) bool {
	p := s.pages[n>>16]
	if p == nil || p[n>>6&1023]&(1<<(n&63)) == 0 {
		return false
	}
	p[n>>6&1023] &^= 1 << (n & 63)
	s.count--
	return true
}

// first gives the lowest numbers, at most so many.
func (s *numbers) first(most int) (all []int64) {
	for _, key := range sortedKeys(s.pages) {
		for i, word := range s.pages[key] {
			for ; word != 0; word &= word - 1 {
				if len(all) == most {
					return all
				}
				all = append(all, key<<16+int64(i)<<6+int64(bits.TrailingZeros64(word)))
			}
		}
	}
	return all
}
