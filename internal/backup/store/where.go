package store

import (
	"context"
	"strings"
)

// Where says of a store what is lost with what, as far as that is known.
type Where struct {
	Site  string // what fails together: a region, a server
	Login string // a mark by which logins are told apart, and which does not tell the login
}

// Placed is a store that can tell where it is.
type Placed interface {
	Where(ctx context.Context) Where
}

// URLs names stores for people: their URLs with " and " between them.
func URLs(all []Store) string {
	var urls []string
	for _, s := range all {
		urls = append(urls, s.URL())
	}
	return strings.Join(urls, " and ")
}

// AsPlaced gives what a store tells of where it is, also of one that is tried patiently.
func AsPlaced(s Store) (Placed, bool) {
	if p, is := s.(*Patient); is {
		s = p.Store
	}
	at, is := s.(Placed)
	return at, is
}
