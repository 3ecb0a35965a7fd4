package backup

import (
	"context"
	"fmt"
	"math/rand/v2"

	"filippo.io/age"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/stream"
)

// Verify reads backups again to see whether they would come back.
type Verify struct {
	Vault
	Keys    []age.Identity // none: objects are compared with what their manifest says of them, and not opened
	Percent float64        // of the chunks that are read, at random; the first and last of each stream are always among them
	Workers int
	Doing   func(Progress)
}

// Verified is what came of one.
type Verified struct {
	ID      string `json:"id"`
	Objects int64  `json:"objects"` // that the store has, of the right size
	Read    int64  `json:"read"`    // of those, that were read and are what was sent
	Bytes   int64  `json:"bytes"`   // of the streams, in what was read
	Opened  bool   `json:"opened"`  // they were decrypted and unpacked too
}

// Run verifies one backup: every object is there and of its size, and those of the sample are what was sent.
func (v Verify) Run(ctx context.Context, m manifest.Manifest) (Verified, error) {
	got := Verified{ID: m.ID, Opened: len(v.Keys) > 0}
	there, err := sizes(ctx, v.Store, m.ID)
	if err != nil {
		return got, fmt.Errorf("verify backup %s: %w", m.ID, err)
	}
	for number, s := range m.Streams {
		if err := v.stream(ctx, m, number, there, &got); err != nil {
			return got, fmt.Errorf("verify backup %s: %s: %w", m.ID, s.Name, err)
		}
	}
	return got, nil
}

func (v Verify) stream(ctx context.Context, m manifest.Manifest, number int, there map[string]int64, got *Verified) error {
	s, last := m.Streams[number], int64(0)
	if s.Chunk > 0 {
		last = (s.Bytes+s.Chunk-1)/s.Chunk - 1
	}
	var read, bytes int64
	err := stream.Read(ctx, stream.Reading{Store: v.Store, ID: m.ID, Stream: number, Of: s, Keys: v.Keys, Workers: v.Workers,
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
		Only: func(n int64) bool {
			if n != 0 && n != last && rand.Float64()*100 >= v.Percent {
				return false
			}
			read++
			return true
		},
		Doing: func(n int64) {
			bytes = n
			if v.Doing != nil {
				v.Doing(Progress{Stream: s.Name, Bytes: n, Size: s.Bytes})
			}
		}}, nil)
	if err != nil {
		return err
	}
	got.Read, got.Bytes = got.Read+read, got.Bytes+bytes
	return nil
}
