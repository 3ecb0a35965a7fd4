package archive

import (
	"context"
	"slices"

	"plumb/internal/backup/manifest"
)

// Behind is what a store has of the log behind a base: as far as that goes, the base can be brought to later moments.
type Behind struct {
	Archived bool  `json:"archived"`               // the archive has the place at which the base begins
	Log      bool  `json:"log_here"`               // the archive has some log
	Alone    *bool `json:"starts_alone,omitempty"` // a server starts on the base without any of it; nil where nobody knows
}

// Behind tells, by their IDs, what is behind those of some backups that are bases. It goes by the names of the pieces, and for
// others than bases it asks nothing.
func (s Shelf) Behind(ctx context.Context, products []Product, backups ...manifest.Manifest) (map[string]Behind, error) {
	bases := map[string]Product{}
	for _, m := range backups {
		if i := slices.IndexFunc(products, func(p Product) bool { return p.Knows(m) }); i >= 0 {
			bases[m.ID] = products[i]
		}
	}
	if len(bases) == 0 {
		return nil, nil
	}
	pieces, err := s.List(ctx, "")
	if err != nil {
		return nil, err
	}
	logs := Logs(pieces)
	found := map[string]Behind{}
	for _, m := range backups {
		if product, is := bases[m.ID]; is {
			found[m.ID] = behind(product, m, logs)
		}
	}
	return found, nil
}

func behind(product Product, m manifest.Manifest, logs [][]Piece) Behind {
	b := Behind{Log: len(logs) > 0}
	if alone, known := product.Alone(m); known {
		b.Alone = &alone
	}
	b.Archived = slices.ContainsFunc(logs, func(log []Piece) bool {
		_, there, err := product.Begins(m, log)
		return there && err == nil
	})
	return b
}
