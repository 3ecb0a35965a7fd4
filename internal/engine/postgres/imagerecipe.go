package postgres

import (
	"context"

	"plumb/internal/change"
	"plumb/internal/host"
)

func imageRecipe(ctx context.Context, h host.Reader, w change.Want) (change.Recipe, error) {
	return change.Recipe{}, nil
}
