package watch

import (
	"time"

	"plumb/test/watch/counted"
)

// count keeps a run for the table of all of them. after is when the verdict was raised, of one that was.
func (s *scene) count(r counted.Run, after time.Duration) {
	s.t.Helper()
	r.Test, r.True = s.t.Name(), s.besides
	if r.Said != "" && after > 0 {
		seconds := after.Seconds()
		r.Seconds = &seconds
	}
	if err := counted.Add(r); err != nil {
		s.t.Error(err)
	}
}
