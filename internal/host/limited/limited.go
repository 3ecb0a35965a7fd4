// Package limited bounds what a program or a file of somebody else may give.
package limited

import "bytes"

// Buffer keeps what is written to it, so many bytes at most. It has no ReadFrom, which would pass the limit by.
type Buffer struct {
	left  int
	full  error
	bytes bytes.Buffer
}

// NewBuffer makes one that takes so many bytes, and then fails with an error.
func NewBuffer(most int, full error) *Buffer { return &Buffer{left: most, full: full} }

// Write implements io.Writer. What does not fit is left out whole, and so is all that comes after it.
func (b *Buffer) Write(p []byte) (int, error) {
	if b.left < len(p) {
		b.left = 0
		return 0, b.full
	}
	b.left -= len(p)
	return b.bytes.Write(p)
}

// Bytes is what was kept.
func (b *Buffer) Bytes() []byte { return b.bytes.Bytes() }

// String is what was kept.
func (b *Buffer) String() string { return b.bytes.String() }
