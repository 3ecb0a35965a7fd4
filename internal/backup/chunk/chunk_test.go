package chunk

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"
)

func key(t testing.TB) *age.X25519Identity {
	t.Helper()
	k, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sealer(t testing.TB, to ...age.Recipient) *Sealer {
	t.Helper()
	s, err := NewSealer(to)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func opener(t testing.TB, keys ...age.Identity) *Opener {
	t.Helper()
	o, err := NewOpener(keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o
}

// noise is what does not pack.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

func TestThereAndBack(t *testing.T) {
	one, other := key(t), key(t)
	s, into := sealer(t, one.Recipient(), other.Recipient()), make([]byte, Max)
	for name, plain := range map[string][]byte{"nothing": {}, "a byte": {7}, "zeros": make([]byte, Max), "noise": noise(Max), "some": noise(100_001)} {
		object, err := s.Seal(plain)
		if err != nil {
			t.Fatal(err)
		}
		if len(object) > MaxObject {
			t.Errorf("%s: %d bytes, and an object has %d at most", name, len(object), MaxObject)
		}
		for _, k := range []age.Identity{one, other} {
			got, err := opener(t, k).Open(object, into, int64(len(plain)))
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
	}
	if _, err := s.Seal(make([]byte, Max+1)); err == nil {
		t.Error("a chunk larger than a chunk is sealed")
	}
}

// A byte that is another, anything that is missing or too much, another key, and a length that
// is not the one known: each is an error, and gives nothing.
func TestWhatIsWrong(t *testing.T) {
	k := key(t)
	object, err := sealer(t, k.Recipient()).Seal(noise(5000))
	if err != nil {
		t.Fatal(err)
	}
	object = bytes.Clone(object)
	o, into := opener(t, k), make([]byte, 8000)
	for at := 0; at < len(object); at += 7 {
		wrong := bytes.Clone(object)
		wrong[at] ^= 0x10
		if got, err := o.Open(wrong, into, 5000); err == nil || got != nil {
			t.Fatalf("byte %d of %d is another, and it is opened", at, len(object))
		}
		if got, err := o.Open(object[:at], into, 5000); err == nil || got != nil {
			t.Fatalf("cut at byte %d, and it is opened", at)
		}
	}
	if _, err := o.Open(append(bytes.Clone(object), 0), into, 5000); err == nil {
		t.Error("with a byte too many it is opened")
	}
	for _, size := range []int64{-1, 0, 4999, 5001, 8001} {
		if got, err := o.Open(object, into, size); err == nil || got != nil {
			t.Errorf("it holds 5000 bytes, and is opened as %d", size)
		}
	}
	if _, err := opener(t, key(t)).Open(object, into, 5000); !errors.Is(err, ErrKey) {
		t.Errorf("another key: %v", err)
	}
}

// frames encrypts frames that a Sealer would not make.
func frames(t *testing.T, to age.Recipient, all ...[]byte) []byte {
	t.Helper()
	var object bytes.Buffer
	w, err := age.Encrypt(&object, to)
	if err == nil {
		_, err = w.Write(bytes.Join(all, nil))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return object.Bytes()
}

// packed is a frame of zeros that does not tell how many there are.
func packed(t *testing.T, size int64, window int) []byte {
	t.Helper()
	var frame bytes.Buffer
	z, err := zstd.NewWriter(&frame, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err == nil {
		_, err = io.CopyN(z, zeros{}, size)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return frame.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// What unpacks to more than it should, wants to remember more than is ever needed, or is several frames in a row, is an error, and takes
// no more memory than a few chunks.
func TestBombs(t *testing.T) {
	k := key(t)
	one := packed(t, 8<<20, window)
	for name, object := range map[string][]byte{
		"a gigabyte":      frames(t, k.Recipient(), packed(t, 1<<30, window)),
		"a large window":  frames(t, k.Recipient(), packed(t, 64<<20, 64<<20)),
		"a hundred":       frames(t, k.Recipient(), bytes.Repeat(one, 100)),
		"with a frame on": frames(t, k.Recipient(), one, packed(t, 1, window)),
	} {
		o, into := opener(t, k), make([]byte, 8<<20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := o.Open(object, into, 8<<20)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || got != nil || took > 256<<20 {
			t.Errorf("%s: %d bytes, %v, and %d MiB were asked for", name, len(got), err, took>>20)
		}
	}
}

// A header with as many recipients as age allows is read as any other.
func TestManyRecipients(t *testing.T) {
	var to []age.Recipient
	last := key(t)
	for range 1023 {
		to = append(to, last.Recipient())
	}
	mine := key(t)
	object, err := sealer(t, append(to, mine.Recipient())...).Seal([]byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opener(t, mine).Open(object, make([]byte, 10), 4); err != nil || string(got) != "data" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := opener(t, key(t)).Open(object, make([]byte, 10), 4); !errors.Is(err, ErrKey) {
		t.Errorf("another key: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	k := key(f)
	object, err := sealer(f, k.Recipient()).Seal([]byte("what was said"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Clone(object))
	f.Add([]byte("age-encryption.org/v1\n"))
	into := make([]byte, 64)
	o := opener(f, k)
	f.Fuzz(func(t *testing.T, object []byte) {
		if got, err := o.Open(object, into, 13); err == nil && string(got) != "what was said" {
			t.Fatalf("%q", got)
		}
	})
}

func BenchmarkSealNoise(b *testing.B) {
	s, plain := sealer(b, key(b).Recipient()), noise(Max)
	b.SetBytes(Max)
	for b.Loop() {
		if _, err := s.Seal(plain); err != nil {
			b.Fatal(err)
		}
	}
}
