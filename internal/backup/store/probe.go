package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
)

// probes is where Probe tries what a store does.
const probes = "probe/"

// Conditional finds out whether a store keeps the condition that a manifest is written
// under. Some take the header and ignore it, and answer as if they had not.
func Conditional(ctx context.Context, s Store) (bool, error) {
	word := make([]byte, 8)
	if _, err := rand.Read(word); err != nil {
		return false, err
	}
	name := probes + hex.EncodeToString(word)
	defer func() { _ = s.Delete(context.WithoutCancel(ctx), name) }() // what stays is a few bytes under a name of its own
	for _, text := range []string{"first", "second"} {
		_, err := s.Put(ctx, name, []byte(text), Put{New: true})
		switch {
		case text == "second" && errors.Is(err, ErrExists):
			return true, nil
		case err != nil:
			return false, fmt.Errorf("try whether %s takes objects: %w", s.URL(), err)
		}
	}
	return false, nil
}
