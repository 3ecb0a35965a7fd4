package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// memory is a store that lives as long as a test, and fails as it is told.
type memory struct {
	mu      sync.Mutex
	objects map[string][]byte
	puts    atomic.Int64
	fail    func(name string) error
}

func newMemory() *memory { return &memory{objects: map[string][]byte{}} }

func (m *memory) failing(name string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(name)
}

func (m *memory) Put(_ context.Context, name string, data []byte, _ store.Put) (string, error) {
	if err := m.failing(name); err != nil {
		return "", err
	}
	m.puts.Add(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[name] = bytes.Clone(data)
	return "tag", nil
}

func (m *memory) Get(_ context.Context, name string, into []byte) ([]byte, string, error) {
	if err := m.failing(name); err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	data, is := m.objects[name]
	switch {
	case !is:
		return nil, "", store.ErrNotFound
	case len(data) > cap(into):
		return nil, "", store.ErrTooLarge
	}
	return into[:copy(into[:cap(into)], data)], "tag", nil
}

func (m *memory) List(context.Context, string, func(store.Info) error) error { return nil }
func (m *memory) Delete(context.Context, string) error                       { return nil }
func (m *memory) URL() string                                                { return "memory" }

// notes is a memory of what was sent.
type notes struct {
	mu   sync.Mutex
	sent map[string]Sent
}

func newNotes() *notes { return &notes{sent: map[string]Sent{}} }

func at(stream int, chunk int64) string { return fmt.Sprint(stream, " ", chunk) }

func (n *notes) Sent(stream int, chunk int64) (Sent, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, is := n.sent[at(stream, chunk)]
	return s, is
}

func (n *notes) Note(_ context.Context, s Sent) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent[at(s.Stream, s.Chunk)] = s
	return nil
}

const id = "20261125T120000Z-abcd1234"

func identity(t *testing.T) *age.X25519Identity {
	t.Helper()
	k, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return b
}

// send writes a stream in pieces of odd sizes.
func send(t *testing.T, o Writing, data []byte) (manifest.Stream, error) {
	t.Helper()
	w, err := NewWriter(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for failed := error(nil); ; {
		n := min(len(data), 777)
		if n == 0 || failed != nil {
			return w.Finish(failed)
		}
		_, failed = w.Write(data[:n])
		data = data[n:]
	}
}

func TestThereAndBack(t *testing.T) {
	key := identity(t)
	for _, size := range []int{0, 1, 999, 1000, 1001, 50_000, 1_001_000} { // the last needs two lists
		m, data := newMemory(), noise(size)
		s, err := send(t, Writing{Store: m, ID: id, To: []age.Recipient{key.Recipient()}, Key: []byte("k"), Memory: newNotes(), Chunk: 1000, Workers: 3}, data)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := Read(t.Context(), Reading{Store: m, ID: id, Of: s, Keys: []age.Identity{key}, Workers: 4}, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Errorf("%d bytes: %d came back, %v", size, got.Len(), err)
		}
	}
}

// A run that was killed goes on: what is there is not sent again, unless it is another by now.
func TestGoesOn(t *testing.T) {
	key, m, n := identity(t), newMemory(), newNotes()
	o := Writing{Store: m, ID: id, To: []age.Recipient{key.Recipient()}, Key: []byte("k"), Memory: n, Chunk: 1000, Workers: 3}
	data := noise(100_000)
	if _, err := send(t, o, data[:50_000]); err != nil { // no more was read when it was killed
		t.Fatal(err)
	}
	data[10] ^= 1
	before := m.puts.Load()
	s, err := send(t, o, data)
	if again := m.puts.Load() - before; err != nil || again != 51+1 { // and the list
		t.Errorf("%d objects are sent again, %v", again, err)
	}
	var got bytes.Buffer
	if err := Read(t.Context(), Reading{Store: m, ID: id, Of: s, Keys: []age.Identity{key}}, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d came back, %v", got.Len(), err)
	}
}

// What was sent is replaced by a run that dies before it is noted: the one that goes on after that, and gives what the first gave,
// must not take what is there for that.
func TestReplacedByOneThatDied(t *testing.T) {
	key, m, n := identity(t), newMemory(), newNotes()
	o := Writing{Store: m, ID: id, To: []age.Recipient{key.Recipient()}, Key: []byte("k"), Memory: n, Chunk: 1000, Workers: 1}
	data := noise(5_000)
	if _, err := send(t, o, data[:3_000]); err != nil {
		t.Fatal(err)
	}
	other := bytes.Clone(data)
	other[1500] ^= 1
	broken := errors.New("died")
	o.Store = dies{m, broken}
	if _, err := send(t, o, other); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	o.Store = m
	s, err := send(t, o, data)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Read(t.Context(), Reading{Store: m, ID: id, Of: s, Keys: []age.Identity{key}}, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d came back, %v", got.Len(), err)
	}
}

// dies keeps what it is given, and says that it failed.
type dies struct {
	*memory
	err error
}

func (d dies) Put(ctx context.Context, name string, data []byte, o store.Put) (string, error) {
	if _, err := d.memory.Put(ctx, name, data, o); err != nil {
		return "", err
	}
	return "", d.err
}

// What a store does not do ends it at once; what passes, a patient store outlives.
func TestTroubles(t *testing.T) {
	key, m := identity(t), newMemory()
	var asked atomic.Int64
	m.fail = func(string) error {
		if asked.Add(1)%3 != 0 {
			return &store.Trouble{Err: errors.New("slow down"), Slow: true}
		}
		return nil
	}
	patient := store.Patiently(m, store.Patience{For: 10 * time.Second, First: time.Millisecond, Most: 5 * time.Millisecond}, 4, nil)
	o := Writing{Store: patient, ID: id, To: []age.Recipient{key.Recipient()}, Key: []byte("k"), Memory: newNotes(), Chunk: 1000, Workers: 4}
	data := noise(30_500)
	s, err := send(t, o, data)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Read(t.Context(), Reading{Store: patient, ID: id, Of: s, Keys: []age.Identity{key}}, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d came back, %v", got.Len(), err)
	}
	m.fail = func(string) error { return store.ErrFull }
	if _, err := send(t, o, noise(70_000)); !errors.Is(err, store.ErrFull) {
		t.Error(err)
	}
}

// TestOutlivesAnHour has a store be away for an hour amid a stream, by a clock that is made to go: nothing is given up, and all arrives.
func TestOutlivesAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, m := identity(t), newMemory()
		away := time.Now().Add(time.Hour)
		var refused atomic.Int64
		m.fail = func(string) error {
			if m.puts.Load() < 10 || time.Now().After(away) {
				return nil
			}
			refused.Add(1)
			return &store.Trouble{Err: errors.New("connection refused")}
		}
		patient := store.Patiently(m, store.DefaultPatience, 4, nil)
		data := noise(40_500)
		s, err := send(t, Writing{Store: patient, ID: id, To: []age.Recipient{key.Recipient()}, Key: []byte("k"), Memory: newNotes(), Chunk: 1000, Workers: 4}, data)
		if err != nil || time.Now().Before(away) {
			t.Fatalf("%v, %s before it is there again", err, time.Until(away))
		}
		if n := refused.Load(); n < 100 || n > 4*3600 { // it is asked again and again, and not all the time
			t.Errorf("it was asked %d times", n)
		}
		var got bytes.Buffer
		if err := Read(t.Context(), Reading{Store: patient, ID: id, Of: s, Keys: []age.Identity{key}}, &got); err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Errorf("%d came back, %v", got.Len(), err)
		}
	})
}

// What the one who writes has failed at is no stream.
func TestWriterFails(t *testing.T) {
	key := identity(t)
	w, err := NewWriter(t.Context(), Writing{Store: newMemory(), ID: id, To: []age.Recipient{key.Recipient()}, Key: []byte("k"), Memory: newNotes(), Chunk: 1000})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(noise(1500))
	broken := errors.New("exit status 1")
	if _, err := w.Finish(broken); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// Nothing of a chunk that is another, torn, older or another's is passed on, and nothing after it.
func TestForgeries(t *testing.T) {
	key, m := identity(t), newMemory()
	o := Writing{Store: m, ID: id, To: []age.Recipient{key.Recipient()}, Key: []byte("k"), Memory: newNotes(), Chunk: 1000}
	data := noise(20_000)
	s, err := send(t, o, data)
	if err != nil {
		t.Fatal(err)
	}
	good := m.objects
	forged := func(change func(name string, all map[string][]byte)) {
		t.Helper()
		n := rand.Int64N(20)
		name := manifest.ChunkName(id, 0, n)
		m.objects = map[string][]byte{}
		for k, v := range good {
			m.objects[k] = bytes.Clone(v)
		}
		change(name, m.objects)
		var got bytes.Buffer
		err := Read(t.Context(), Reading{Store: m, ID: id, Of: s, Keys: []age.Identity{key}, Workers: 2}, &got)
		if err == nil || int64(got.Len()) > n*1000 || !bytes.Equal(got.Bytes(), data[:got.Len()]) {
			t.Fatalf("chunk %d: %d bytes are passed on, %v", n, got.Len(), err)
		}
	}
	other := bytes.Clone(good[manifest.ChunkName(id, 0, 3)])
	for range 200 {
		forged(func(name string, all map[string][]byte) { all[name][rand.IntN(len(all[name]))] ^= 1 << rand.IntN(8) })
		forged(func(name string, all map[string][]byte) { all[name] = all[name][:rand.IntN(len(all[name]))] })
		forged(func(name string, all map[string][]byte) { all[name] = append(all[name], 'x') })
		forged(func(name string, all map[string][]byte) { delete(all, name) })
		forged(func(name string, all map[string][]byte) {
			all[name] = all[manifest.ChunkName(id, 0, 19)]
			all[manifest.ChunkName(id, 0, 19)] = other
		})
	}
	list := manifest.PartName(id, 0, 0)
	m.objects = map[string][]byte{}
	for k, v := range good {
		m.objects[k] = bytes.Clone(v)
	}
	m.objects[list][5] ^= 1
	var got bytes.Buffer
	if err := Read(t.Context(), Reading{Store: m, ID: id, Of: s, Keys: []age.Identity{key}}, &got); err == nil || got.Len() > 0 {
		t.Errorf("a forged list: %d bytes are passed on, %v", got.Len(), err)
	}
	m.objects = good
	if err := Read(t.Context(), Reading{Store: m, ID: id, Of: s, Keys: []age.Identity{identity(t)}}, &got); err == nil || got.Len() > 0 {
		t.Errorf("another key: %d bytes are passed on, %v", got.Len(), err)
	}
}

// A sample reads what it names, and passes nothing on.
func TestSample(t *testing.T) {
	key, m := identity(t), newMemory()
	s, err := send(t, Writing{Store: m, ID: id, To: []age.Recipient{key.Recipient()}, Key: []byte("k"), Memory: newNotes(), Chunk: 1000}, noise(20_000))
	if err != nil {
		t.Fatal(err)
	}
	m.objects[manifest.ChunkName(id, 0, 7)][0] ^= 1
	for odd, bad := range map[int64]bool{0: false, 1: true} {
		err := Read(t.Context(), Reading{Store: m, ID: id, Of: s, Keys: []age.Identity{key}, Only: func(n int64) bool { return n%2 == odd }}, nil)
		if (err != nil) != bad {
			t.Errorf("chunks of %d: %v", odd, err)
		}
	}
}

// All who send share the pace.
func TestPace(t *testing.T) {
	p := &Pace{PerSecond: 1_000_000}
	began := time.Now()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if err := p.Wait(t.Context(), 10_000); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took < 180*time.Millisecond { // the last of 200,000 bytes may begin after 190 ms
		t.Errorf("200,000 bytes at 1,000,000 a second took %s", took)
	}
}

// TestPaceOfReading fetches no faster than it may.
func TestPaceOfReading(t *testing.T) {
	m, data := newMemory(), noise(50_000)
	s, err := send(t, Writing{Store: m, ID: id, To: []age.Recipient{identity(t).Recipient()}, Key: []byte("k"), Memory: newNotes(), Chunk: 1000}, data)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o := Reading{Store: m, ID: id, Of: s, Workers: 4, Pace: &Pace{PerSecond: 10_000}, Sealed: true, Only: func(int64) bool { return true }}
		if err := Read(t.Context(), o, nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 4*time.Second { // an object is longer than its 1,000 bytes
			t.Errorf("50,000 bytes at 10,000 a second took %s", took)
		}
	})
}

// nowhere keeps nothing.
type nowhere struct{}

func (nowhere) Put(context.Context, string, []byte, store.Put) (string, error) { return "tag", nil }

// BenchmarkSend is all that a backup does but for the producer and the store: what does not pack, in the pieces that come from a pipe.
func BenchmarkSend(b *testing.B) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		b.Fatal(err)
	}
	const piece, times = 64 << 10, 16
	data := noise(16 << 20) // longer than packing looks back
	b.SetBytes(times * int64(len(data)))
	for b.Loop() {
		w, err := NewWriter(b.Context(), Writing{Store: nowhere{}, ID: id, To: []age.Recipient{key.Recipient()}, Key: []byte("k"), Memory: newNotes()})
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < times*len(data) && err == nil; i += piece {
			at := i % len(data)
			_, err = w.Write(data[at : at+piece])
		}
		if _, err := w.Finish(err); err != nil {
			b.Fatal(err)
		}
	}
}
