package store

import "context"

// Missing is a store that is not there now, a disk that is not mounted: whatever is asked of it fails with why. So it is
// lost among several as one is that fails later.
type Missing struct {
	At  string // its URL
	Why error
}

var _ Store = (*Missing)(nil)

// Put implements Store.
func (m *Missing) Put(context.Context, string, []byte, Put) (string, error) { return "", m.Why }

// Get implements Store.
func (m *Missing) Get(context.Context, string, []byte) ([]byte, string, error) { return nil, "", m.Why }

// List implements Store.
func (m *Missing) List(context.Context, string, func(Info) error) error { return m.Why }

// Delete implements Store.
func (m *Missing) Delete(context.Context, string) error { return m.Why }

// URL implements Store.
func (m *Missing) URL() string { return m.At }
