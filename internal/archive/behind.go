package archive

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
)

// Behind is what a store has of the log behind a base: as far as that goes, the base can be brought to later moments.
type Behind struct {
	Archived bool   `json:"archived"`               // the archive has the place at which the base begins, as somebody signed it who is trusted
	Log      bool   `json:"log_here"`               // the archive has some log, as the names of its objects say
	Alone    *bool  `json:"starts_alone,omitempty"` // a server starts on the base without any of it; nil where nobody knows
	Doubt    string `json:"doubt,omitempty"`        // why what has that place by its name is not believed; it names the object
}

// Behind tells, by their IDs, what is behind those of some backups that are bases. The names of the pieces say which has the place at
// which a base begins, and who may write to the store can give any name: so the entry of that piece is read. For others than bases it
// asks nothing, nor for points: they are whole without a log, and that at their place is still being written when they are sent.
func (s Shelf) Behind(ctx context.Context, products []Product, backups ...manifest.Manifest) (map[string]Behind, error) {
	productOf := func(m manifest.Manifest) int {
		return slices.IndexFunc(products, func(p Product) bool { return p.Knows(m) })
	}
	bases := slices.DeleteFunc(slices.Clone(backups), func(m manifest.Manifest) bool { return m.Point != "" || productOf(m) < 0 })
	if len(bases) == 0 {
		return nil, nil
	}
	pieces, err := s.List(ctx, "")
	if err != nil {
		return nil, err
	}
	logs := Logs(pieces)
	all := make([]Behind, len(bases))
	err = store.Each(ctx, stream.Workers, bases, func(ctx context.Context, i int, m manifest.Manifest) (err error) {
		all[i], err = s.behind(ctx, products[productOf(m)], m, logs)
		return err
	})
	if err != nil {
		return nil, err
	}
	found := map[string]Behind{}
	for i, m := range bases {
		found[m.ID] = all[i]
	}
	return found, nil
}

func (s Shelf) behind(ctx context.Context, product Product, m manifest.Manifest, logs [][]Piece) (b Behind, err error) {
	b.Log = len(logs) > 0
	if alone, known := product.Alone(m); known {
		b.Alone = &alone
	}
	for _, log := range logs {
		_, in, err := product.Begins(m, log)
		if err != nil {
			continue // where it begins is not known
		}
		is, doubt, err := s.Believed(ctx, in)
		if err != nil {
			return b, err
		}
		if is {
			b.Archived, b.Doubt = true, ""
			break
		}
		b.Doubt = cmp.Or(b.Doubt, doubt)
	}
	return b, nil
}

// MostDoubts is how many pieces that are not believed are looked at before the others are let be: somebody else can put any number there.
const MostDoubts = 20

// Believed tells whether one of some pieces was signed by somebody who is trusted, and of the first that was not why it is not believed.
func (s Shelf) Believed(ctx context.Context, in []Piece) (is bool, doubt string, err error) {
	for _, p := range in[:min(len(in), MostDoubts)] {
		_, err := s.Entry(ctx, p)
		switch {
		case err == nil:
			return true, "", nil
		case errors.Is(err, store.ErrNotFound):
			continue // pruned just now
		case !errors.Is(err, ErrUnbelieved):
			return false, "", err
		}
		doubt = cmp.Or(doubt, err.Error())
	}
	return false, doubt, nil
}
