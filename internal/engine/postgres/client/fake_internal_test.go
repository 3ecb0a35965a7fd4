package client

import (
	"testing"

	"plumb/internal/engine/fake"
)

// FuzzRequests gives a fake server garbage instead of requests.
func FuzzRequests(f *testing.F) {
	st, _ := parseStatement("SELECT c FROM t WHERE id = ?")
	st.prefix, st.types = bindPrefix("p0", []uint32{typeInt4}), []uint32{typeInt4}
	for _, seed := range []string{"P\x00\x00\x00\x10p0\x00SELECT\x00\x00\x00", "D\x00\x00\x00\x08Sp0\x00", "Q\x00\x00\x00\x0aBEGIN\x00", "D\x00\x00\x00\x04",
		string(st.prefix) + executeSync, "X\x00\x00\x00\x04", "B\x00\x00\x00\x04E\x00\x00\x00\x04", "Q\x00\x00\x00\x04"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		server := &FakeServer{&fake.Server{}, newAnswers([]string{"1"}, 1)}
		s := &fakeSession{f: server, status: 'I', statements: map[string]*fakeStatement{}}
		if used, _ := s.requests(in); used < 0 || used > len(in) {
			t.Fatalf("used %d of %d bytes", used, len(in))
		}
		var a answer
		if err := a.parse(s.out); err != nil {
			t.Fatalf("its answer %q: %v", s.out, err)
		}
	})
}
