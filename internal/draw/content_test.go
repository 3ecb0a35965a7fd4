package draw

import (
	"bytes"
	"compress/flate"
	"testing"

	"pgregory.net/rapid"
)

// packed is what deflate makes of data, as a part of its length.
func packed(t *testing.T, data []byte) float64 {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return float64(b.Len()) / float64(len(data))
}

func TestContentCompressesAsStated(t *testing.T) {
	for _, size := range []int{4096, 16384, 131072} {
		for _, c := range []float64{0, 0.25, 0.5, 0.75, 0.9} {
			block := make([]byte, size)
			Content(block, 1, 2, 3, c)
			if got := packed(t, block); got < 1-c-0.005 || got > 1-c+0.03 {
				t.Errorf("%d bytes of %g compress to %.3f", size, c, got)
			}
		}
	}
}

// Many blocks together must not compress further: nothing repeats.
func TestContentRepeatsNothing(t *testing.T) {
	var all []byte
	block := make([]byte, 4096)
	for i := range int64(64) {
		Content(block, 1, i%2, i/2, 0)
		all = append(all, block...)
	}
	if got := packed(t, all); got < 1 {
		t.Errorf("64 blocks compress to %.3f", got)
	}
	seen := map[[16]byte]bool{}
	for file := range int64(100) {
		for number := range int64(1000) {
			Content(block, 1, file, number, 1)
			seen[[16]byte(block)] = true
		}
	}
	if len(seen) != 100000 {
		t.Errorf("%d different blocks of 100000", len(seen))
	}
}

func TestContentIsUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, size := rapid.Float64Range(0, 1).Draw(t, "compressible"), rapid.IntRange(16, 2000).Draw(t, "size")
		number := rapid.Int64Range(0, 5)
		type name struct {
			seed        uint64
			file, block int64
		}
		draw := func() (name, []byte) {
			n := name{uint64(number.Draw(t, "seed")), number.Draw(t, "file"), number.Draw(t, "block")}
			b := make([]byte, size)
			Content(b, n.seed, n.file, n.block, c)
			return n, b
		}
		n1, b1 := draw()
		n2, b2 := draw()
		if (n1 == n2) != bytes.Equal(b1, b2) {
			t.Fatalf("%v and %v", n1, n2)
		}
		if bytes.Equal(b1, make([]byte, size)) {
			t.Fatal("all zeros")
		}
	})
}
