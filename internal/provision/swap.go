package provision

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// Swapper knows how a kind of server gets another version, with the data that it has. It only reads.
type Swapper interface {
	// Kind is that of its things in the stack.
	Kind() string
	// Swap says what brings the data of a server under another release. The way is one that package product knows.
	Swap(ctx context.Context, h host.Reader, w Swap) (Course, error)
	// Since counts what has been written since the server was swapped, and is lost on the way back.
	Since(ctx context.Context, h host.Reader, home Home) (Lost, error)
}

// Swap is a server on its way to another release.
type Swap struct {
	Home  Home
	Stack *stack.Stack
	To    product.Release
	At    string // the new data directory, or where those of before are kept; "": the usual place
	// System labels a new data directory.
	System System
}

// Course is how a server is swapped: each part is a change of the journal of its own.
type Course struct {
	// First is done while the server runs on as it is: it brings the programs that a rehearsal needs.
	First Making
	Swap  Making
	// Next is what should follow, in words; "" for nothing.
	Next string
}

// Lost is what the way back of a swap costs.
type Lost struct {
	Transactions int64  // at most, the server's own among them
	In           string // the engine of the server that counts them; "" where it has one
	Logged       *int64 // how many its binary log has; nil where that is not known
	But          string // what is lost too and not counted; "" for nothing
}

// WayTo gives the way of a server to what somebody calls a version, or a flavour with one: 17, percona:8.0.
func WayTo(home Home, text string) (from, to product.Release, way product.Way) {
	from, to = product.Release{Flavor: home.Flavor, Version: home.Version}, product.Release{Flavor: home.Flavor, Version: text}
	if flavor, version, ok := strings.Cut(text, ":"); ok {
		to = product.Release{Flavor: flavor, Version: version}
	}
	return from, to, product.Swap(from, to)
}

// Answers proves a swap: it sees that a server of the release answers, which a query tells.
func (w Swap) Answers(query string, of func(text string) bool) func(context.Context, host.Reader) error {
	return func(ctx context.Context, h host.Reader) error {
		return await.Until(ctx, time.Minute, func() (bool, error) { // the first session may be one of before
			rows, err := h.Query(ctx, w.Home.Target, query)
			switch {
			case err != nil:
				return false, fmt.Errorf("see that it answers: %w", err)
			case len(rows.Values) != 1 || !of(host.Text(rows.Values[0], 0)):
				return true, fmt.Errorf("another version than %s answers", w.To.Version)
			}
			return true, nil
		})
	}
}
