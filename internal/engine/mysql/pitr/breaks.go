package pitr

import (
	"context"
	"fmt"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
)

// Knows implements archive.Follower.
func (*Follower) Knows(m manifest.Manifest) bool { return Engine{}.Knows(m) }

// told gives the breaks that the archive tells of: a series begins where another could not be gone on with. The reason is in the entry
// of its first piece; of as many as are told one by one it is read. That it cannot be read stops nothing.
func told(ctx context.Context, k *archive.Keeper, logs [][]archive.Piece) (all []archive.Break) {
	for i, series := range logs {
		b := archive.Break{At: manifest.Made(series[0].Series)}
		var err error
		if i >= len(logs)-archive.MostBreaks {
			b.Why, err = reason(ctx, k, series[0])
		}
		if i == 0 && b.Why == "" { // it is the first that there was, as far as anybody knows
			continue
		}
		if err != nil {
			b.Why = fmt.Sprintf("the reason cannot be read: %v", err)
		}
		all = append(all, b)
	}
	return all
}

// reason reads why a series was begun, of its first piece, as this host signed it with any of its keys; "" when that does not say it.
func reason(ctx context.Context, k *archive.Keeper, first archive.Piece) (string, error) {
	s, err := k.OwnShelf()
	if err != nil {
		return "", err
	}
	e, err := s.Entry(ctx, first)
	return e.Why, err
}
