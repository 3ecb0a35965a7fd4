package store

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// sized has one object, and notes which buffers it is given for it.
type sized struct {
	Store
	size  int
	given []int
}

func (s *sized) Get(_ context.Context, _ string, into []byte) ([]byte, string, error) {
	s.given = append(s.given, cap(into))
	if cap(into) < s.size {
		return nil, "", ErrTooLarge
	}
	return into[:s.size], "tag", nil
}

// TestRead: only what does not fit into a small buffer gets a large one.
func TestRead(t *testing.T) {
	const most = 1 << 20
	for size, want := range map[int][]int{100: {few}, few: {few}, few + 1: {few, most}, most: {few, most}, most + 1: {few, most}} {
		s := &sized{size: size}
		data, tag, err := Read(t.Context(), s, "x", most)
		if size > most && !errors.Is(err, ErrTooLarge) || size <= most && (err != nil || len(data) != size || tag != "tag") {
			t.Errorf("%d: %d, %q, %v", size, len(data), tag, err)
		}
		if !slices.Equal(s.given, want) {
			t.Errorf("%d: it was given %v", size, s.given)
		}
	}
	if s := (&sized{size: 200}); s.read(t, 100) == nil || !slices.Equal(s.given, []int{100}) {
		t.Errorf("a small limit: it was given %v", s.given)
	}
}

func (s *sized) read(t *testing.T, most int) error {
	t.Helper()
	_, _, err := Read(t.Context(), s, "x", most)
	return err
}
