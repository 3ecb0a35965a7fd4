package backup

import (
	"context"
	"errors"
	"slices"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/cli/backup/upkeep"
	"plumb/internal/host"
)

// spot is a place that was opened. at is its URL on the command line.
func (p *place) spot(s store.Store, at string) (spot upkeep.Spot) {
	sheet := p.sheet(at)
	spot.Store = s
	spot.URL, spot.Plain, spot.Endpoint = s.URL(), sheet.URL, sheet.Endpoint
	return spot
}

// memory is where this host keeps what it knows of its backups.
func (p *place) memory(d host.Doer) (upkeep.Memory, error) {
	at, err := backup.At(p.state)
	return upkeep.Memory{Do: d, Dir: at}, err
}

// present replaces the places that were emptied by store.Missing, so that they are treated like places that do not answer. It is an error
// if all were emptied.
func (o asked) present(ctx context.Context, d host.Doer, to []store.Store) ([]store.Store, error) {
	m, err := o.memory(d)
	if err != nil {
		return nil, err
	}
	to = slices.Clone(to)
	var gone []error
	for i, s := range to {
		if why := m.Emptied(ctx, o.spot(s, o.urls[i])); why != nil {
			to[i] = &store.Missing{At: s.URL(), Why: why}
			gone = append(gone, why)
		}
	}
	if len(gone) == len(to) {
		return nil, errors.Join(gone...)
	}
	return to, nil
}

// copied writes down which backups another place has now.
func (o copying) copied(ctx context.Context, d host.Doer, from, to store.Store, wanted []manifest.Manifest, done []backup.Copied) error {
	m, err := o.memory(d)
	if err != nil {
		return err
	}
	copied := there(wanted, done)
	if len(copied) == 0 {
		return nil
	}
	return m.Copied(ctx, o.spot(from, o.urls[0]), o.spot(to, o.to), copied)
}
