// Package chunk is the form of one object of a backup: a frame of zstd inside a file of age.
// Without Plumb it is read by
//
//	age -d -i KEY OBJECT | zstd -d
//
// and the chunks of a stream in their order, one behind the other, are the stream.
package chunk

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"plumb/internal/hint"
)

// Max is the most bytes of a stream that one chunk holds.
const Max = 16 << 20

// MaxObject is the most bytes of an object: what does not pack, with the tags and headers of
// zstd and age, and some for many recipients.
const MaxObject = Max + Max/64 + 64<<10

// window is how far back packing looks. Four times as much packs a thousandth better, and copies more than it saves.
const window = 1 << 20

// maxWindow bounds what unpacking remembers, whatever a frame says it wants: former versions packed with 4 MiB.
const maxWindow = 8 << 20

// Sealer makes objects. It is used by one goroutine, and keeps its memory from one to the next.
type Sealer struct {
	to     []age.Recipient
	zstd   *zstd.Encoder
	sealed bytes.Buffer
}

// NewSealer makes objects that any one of some recipients can open.
func NewSealer(to []age.Recipient) (*Sealer, error) {
	if len(to) == 0 {
		return nil, errors.New("seal a backup: no recipient is given, so nobody could open the backup")
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(window))
	if err != nil {
		return nil, fmt.Errorf("seal a backup: %w", err)
	}
	return &Sealer{to: to, zstd: z}, nil
}

// Seal packs and encrypts a part of a stream. What it gives is good until the next call.
func (s *Sealer) Seal(plain []byte) ([]byte, error) {
	if len(plain) > Max {
		return nil, fmt.Errorf("seal a chunk of %d bytes: %d is the most", len(plain), Max)
	}
	s.sealed.Reset()
	s.sealed.Grow(len(plain) + len(plain)/64 + 64<<10) // what is grown step by step ends up twice as large
	w, err := age.Encrypt(&s.sealed, s.to...)
	if err == nil {
		s.zstd.ResetContentSize(w, int64(len(plain)))
		_, err = s.zstd.Write(plain)
	}
	if err == nil {
		err = errors.Join(s.zstd.Close(), w.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("seal a chunk: %w", err)
	}
	return s.sealed.Bytes(), nil
}

// ErrKey is the error of a chunk that none of the keys opens.
var ErrKey = hint.With(errors.New("none of the keys opens it"), "age-keygen -y FILE prints whose key it is; the recovery sheet names who opens the backup")

// Opener reads objects. It is used by one goroutine.
type Opener struct {
	keys   []age.Identity
	zstd   *zstd.Decoder
	packed bytes.Buffer
}

// NewOpener reads what was made for one of some keys.
func NewOpener(keys []age.Identity) (*Opener, error) {
	if len(keys) == 0 {
		return nil, errors.New("open a backup: no key is given")
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*Max), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("open a backup: %w", err)
	}
	return &Opener{keys: keys, zstd: z}, nil
}

// Open decrypts and unpacks an object, into a buffer that can hold what it is known to be: an object that
// says otherwise is wrong, and unpacks to no more than that.
func (o *Opener) Open(object, into []byte, size int64) ([]byte, error) {
	if size < 0 || size > int64(cap(into)) {
		return nil, fmt.Errorf("open a chunk that is to hold %d bytes: the buffer holds %d", size, cap(into))
	}
	r, err := age.Decrypt(bytes.NewReader(object), o.keys...)
	if err != nil {
		if _, none := errors.AsType[*age.NoIdentityMatchError](err); none {
			err = ErrKey
		}
		return nil, fmt.Errorf("open a chunk: %w", err)
	}
	o.packed.Reset()
	if _, err := io.Copy(&o.packed, io.LimitReader(r, MaxObject)); err != nil {
		return nil, fmt.Errorf("open a chunk: %w", err)
	}
	plain, err := o.unpack(into, size)
	if err != nil {
		return nil, fmt.Errorf("open a chunk: %w", err)
	}
	return plain, nil
}

// unpack reads one frame. Its head tells how much it holds, unless that is next to nothing, so
// that nothing larger is begun.
func (o *Opener) unpack(into []byte, size int64) ([]byte, error) {
	var head zstd.Header
	if err := head.Decode(o.packed.Bytes()); err != nil {
		return nil, err
	}
	if head.HasFCS && head.FrameContentSize != uint64(size) {
		return nil, fmt.Errorf("it says that it holds %d bytes, and was to hold %d", head.FrameContentSize, size)
	}
	plain, err := o.zstd.DecodeAll(o.packed.Bytes(), into[:0])
	if err == nil && int64(len(plain)) != size {
		err = fmt.Errorf("it holds %d bytes, and was to hold %d", len(plain), size)
	}
	return plain, err
}

// Close gives back what it holds.
func (o *Opener) Close() { o.zstd.Close() }
