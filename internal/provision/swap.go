package provision

import (
	"context"
	"strings"

	"plumb/internal/host"
	"plumb/internal/product"
)

// Swapper knows how a kind of server gets another version, with the data that it has. It only reads.
type Swapper interface {
	// Kind is that of its things in the stack.
	Kind() string
	// Swap says what brings the data of a server under another release. The way is one that package product knows.
	Swap(ctx context.Context, h host.Reader, w Swap) (Making, error)
	// Since counts what has been written since the server was swapped, and is lost on the way back: at most so many
	// transactions, of which the server's own are a part.
	Since(ctx context.Context, h host.Reader, home Home) (transactions int64, err error)
}

// Swap is a server on its way to another release.
type Swap struct {
	Home Home
	To   product.Release
	At   string // the new data directory; "": where the packages keep it
}

// WayTo gives the way of a server to what somebody calls a version, or a flavour with one: 17, percona:8.0.
func WayTo(home Home, text string) (from, to product.Release, way product.Way) {
	from, to = product.Release{Flavor: home.Flavor, Version: home.Version}, product.Release{Flavor: home.Flavor, Version: text}
	if flavor, version, ok := strings.Cut(text, ":"); ok {
		to = product.Release{Flavor: flavor, Version: version}
	}
	return from, to, product.Swap(from, to)
}
