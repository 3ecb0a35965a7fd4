package prune

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"plumb/internal/backup/store"
)

// mortal is a store whose user dies at one of its calls: before it, or when it is done and nobody hears of it.
type mortal struct {
	store.Store
	mu   sync.Mutex
	left int
	done bool // the last call is carried out
}

// lives tells whether a call is carried out, and whether somebody hears of it.
func (m *mortal) lives() (does, hears bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	return m.left >= 0 || m.left == -1 && m.done, m.left >= 0
}

func (m *mortal) Put(ctx context.Context, name string, data []byte, o store.Put) (tag string, err error) {
	does, hears := m.lives()
	if does {
		tag, err = m.Store.Put(ctx, name, data, o)
	}
	if !hears {
		return "", errDied
	}
	return tag, err
}

func (m *mortal) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	if _, hears := m.lives(); !hears {
		return nil, "", errDied
	}
	return m.Store.Get(ctx, name, into)
}

func (m *mortal) List(ctx context.Context, prefix string, each func(store.Info) error) error {
	if _, hears := m.lives(); !hears {
		return errDied
	}
	return m.Store.List(ctx, prefix, each)
}

func (m *mortal) Delete(ctx context.Context, name string) (err error) {
	does, hears := m.lives()
	if does {
		err = m.Store.Delete(ctx, name)
	}
	if !hears {
		return errDied
	}
	return err
}

// memory is a store in memory: histories are long.
type memory struct {
	mu  sync.Mutex
	n   int
	all map[string]kept
}

type kept struct {
	data []byte
	tag  string
}

func (m *memory) Put(_ context.Context, name string, data []byte, o store.Put) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, is := m.all[name]
	switch {
	case o.New && is:
		return "", store.ErrExists
	case o.Was != "" && was.tag != o.Was:
		return "", store.ErrChanged
	}
	m.n++
	m.all[name] = kept{bytes.Clone(data), fmt.Sprint(m.n)}
	return m.all[name].tag, nil
}

func (m *memory) Get(_ context.Context, name string, into []byte) ([]byte, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, is := m.all[name]
	switch {
	case !is:
		return nil, "", store.ErrNotFound
	case len(k.data) > len(into):
		return nil, "", store.ErrTooLarge
	}
	return into[:copy(into, k.data)], k.tag, nil
}

func (m *memory) List(_ context.Context, prefix string, each func(store.Info) error) error {
	m.mu.Lock()
	var infos []store.Info
	for name, k := range m.all {
		if strings.HasPrefix(name, prefix) {
			infos = append(infos, store.Info{Name: name, Size: int64(len(k.data)), Tag: k.tag})
		}
	}
	m.mu.Unlock()
	slices.SortFunc(infos, func(a, b store.Info) int { return cmp.Compare(a.Name, b.Name) })
	for _, i := range infos {
		if err := each(i); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, name)
	return nil
}

func (m *memory) URL() string { return "memory:" }
