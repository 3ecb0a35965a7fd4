package backup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"filippo.io/age"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// Verify reads backups again to see whether they would come back.
type Verify struct {
	Vault
	Keys    []age.Identity // none: objects are compared with what their manifest says of them, and not opened
	Percent float64        // of the chunks that are read, at random; the first and last of each stream are always among them
	Workers int
	Pace    *stream.Pace // of what is fetched
	Doing   func(Progress)

	seed  uint64 // of the samples
	count *tally // over all backups
}

// Verified is what came of one.
type Verified struct {
	ID      string `json:"id"`
	Objects int64  `json:"objects"` // that the store has, of the right size
	Read    int64  `json:"read"`    // of those, that were read and are what was sent
	Bytes   int64  `json:"bytes"`   // of the streams, in what was read
	Opened  bool   `json:"opened"`  // they were decrypted and unpacked too
}

// Run verifies backups: every object is there and of its size, and those of the sample are what was sent. One that is not so spoils
// only those that need it: it gives those that are well, and says what is wrong with the rest.
func (v Verify) Run(ctx context.Context, all ...manifest.Manifest) (done []Verified, err error) {
	v.seed = rand.Uint64()
	v.count = newTally(v.Doing, v.sampled(all))
	var bad []error
	spoilt := map[string]bool{}
	for _, m := range all {
		got, err := v.backup(ctx, m)
		for _, base := range m.Bases() {
			if err == nil && spoilt[base] {
				err = fmt.Errorf("it needs backup %s", base)
			}
		}
		if err == nil {
			done = append(done, got)
			continue
		}
		spoilt[m.ID] = true
		bad = append(bad, fmt.Errorf("verify backup %s: %w", m.ID, err))
		if _, away := errors.AsType[*store.Trouble](err); away || ctx.Err() != nil { // nor would the others be read
			break
		}
	}
	return done, errors.Join(bad...)
}

func (v Verify) backup(ctx context.Context, m manifest.Manifest) (Verified, error) {
	got := Verified{ID: m.ID, Opened: len(v.Keys) > 0}
	there, err := store.SizesOf(ctx, v.Store, manifest.Folder(m.ID))
	if err != nil {
		return got, err
	}
	for number, s := range m.Streams {
		if err := v.stream(ctx, m, number, there, &got); err != nil {
			return got, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return got, nil
}

// sampled is how many bytes the samples of backups have.
func (v Verify) sampled(all []manifest.Manifest) (bytes int64) {
	for _, m := range all {
		for number, s := range m.Streams {
			in := v.sample(m, number)
			for n := range s.Chunks() {
				if in(n) {
					bytes += min(s.Chunk, s.Bytes-n*s.Chunk)
				}
			}
		}
	}
	return bytes
}

// sample tells which chunks of a stream are read, when asked in their order. In one run the answers are always the same, so that the
// number of bytes is known beforehand.
func (v Verify) sample(m manifest.Manifest, number int) func(n int64) bool {
	draw, last := rand.New(rand.NewPCG(v.seed, uint64(number))), m.Streams[number].Chunks()-1
	return func(n int64) bool { return draw.Float64()*100 < v.Percent || n == 0 || n == last }
}

func (v Verify) stream(ctx context.Context, m manifest.Manifest, number int, there map[string]int64, got *Verified) error {
	s, in := m.Streams[number], v.sample(m, number)
	return stream.Read(ctx, stream.Reading{Store: v.Store, ID: m.ID, Stream: number, Of: s, Keys: v.Keys, Workers: v.Workers, Pace: v.Pace,
		Sealed: len(v.Keys) == 0,
		Seen: func(n int64, c manifest.Chunk) error {
			name := manifest.ChunkName(m.ID, number, n)
			switch size, is := there[name]; {
			case !is:
				return fmt.Errorf("chunk %d is not in the store", n)
			case size != c.Size:
				return fmt.Errorf("chunk %d has %d bytes in the store, and had %d when it was sent", n, size, c.Size)
			}
			got.Objects++
			return nil
		},
		Only: in,
		Doing: func(bytes int64) {
			got.Read, got.Bytes = got.Read+1, got.Bytes+bytes
			v.count.did(s.Name, bytes)
		}}, nil)
}
