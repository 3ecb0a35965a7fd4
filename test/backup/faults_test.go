package backup

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup"
	"plumb/internal/backup/chunk"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/host"
	"plumb/internal/store/dir"
	"plumb/internal/store/s3"
	"plumb/test/sandbox"
)

// faulty is a store with two backups of one host, whose objects somebody changes.
type faulty struct {
	store.Store
	do        *host.LiveDoer
	key       *age.X25519Identity
	vault     backup.Vault
	sign      note.Signer
	old, new  manifest.Manifest
	stream    []byte // what the newer one holds
	out, done string // what its reader was given, and whether it saw the end of it
}

const faultyChunk = 64 << 10

func newFaulty(t *testing.T, s store.Store) *faulty {
	t.Helper()
	f := &faulty{Store: s, do: host.NewLiveDoer(host.NewLive(host.LiveOptions{})), stream: make([]byte, 12*faultyChunk+100)}
	t.Cleanup(func() { _ = f.do.Close() })
	key, err := age.GenerateX25519Identity()
	must(t, err)
	f.key = key
	place := t.TempDir()
	f.out, f.done = filepath.Join(place, "out"), filepath.Join(place, "done")
	state := t.TempDir()
	sign, public, err := backup.HostKey(t.Context(), f.do, state, "db1")
	must(t, err)
	own, err := note.NewVerifier(public)
	must(t, err)
	f.sign, f.vault = sign, backup.Vault{Store: s, Trust: []note.Verifier{own}}
	b := backup.Backup{Do: f.do, Store: s, Dir: state, Host: "db1", Plumb: "test", Sign: sign, Public: public, To: []age.Recipient{key.Recipient()}, Words: []string{key.Recipient().String()},
		Chunk: faultyChunk, Workers: 3, Now: time.Now}
	for _, m := range []*manifest.Manifest{&f.old, &f.new} {
		_, _ = rand.Read(f.stream)
		copy(f.stream, bytes.Repeat([]byte("packs well "), 3*faultyChunk/11)) // not all of it is of one size
		file := filepath.Join(place, "stream")
		must(t, os.WriteFile(file, f.stream, 0o600))
		res, err := b.Run(t.Context(), backup.Job{Name: "command cat", Sources: []backup.Source{{Stream: manifest.Stream{Name: "out", Kind: manifest.Command}, Argv: []string{"cat", file}}}})
		must(t, err)
		*m = res.Manifest
	}
	return f
}

func (f *faulty) get(t *testing.T, name string) []byte {
	t.Helper()
	text, _, err := f.Get(t.Context(), name, make([]byte, 1<<20))
	must(t, err)
	return text
}

func (f *faulty) lay(t *testing.T, name string, text []byte) {
	t.Helper()
	_, err := f.Put(t.Context(), name, text, store.Put{})
	must(t, err)
}

// chunks is how many objects the stream has.
func (f *faulty) chunks() int64 { return (f.new.Streams[0].Bytes + faultyChunk - 1) / faultyChunk }

// fault is one way to be wrong. It changes some objects, and tells which chunk is the first that is wrong: what was
// before that may be passed on. -1 for none: then nothing may be.
type fault struct {
	name string
	do   func(t *testing.T, f *faulty) (first int64, names []string)
}

// changed replaces an object by what becomes of it.
func changed(name string, become func([]byte) []byte) func(*testing.T, *faulty) {
	return func(t *testing.T, f *faulty) { f.lay(t, name, become(bytes.Clone(f.get(t, name)))) }
}

// ofChunk makes a fault of what happens to one chunk.
func ofChunk(name string, become func(t *testing.T, f *faulty, n int64, text []byte) []byte) fault {
	return fault{name, func(t *testing.T, f *faulty) (int64, []string) {
		n := mrand.Int64N(f.chunks())
		object := manifest.ChunkName(f.new.ID, 0, n)
		changed(object, func(text []byte) []byte { return become(t, f, n, text) })(t, f)
		return n, []string{object}
	}}
}

// ofManifest makes one of what happens to the manifest.
func ofManifest(name string, become func(t *testing.T, f *faulty, text []byte) []byte) fault {
	return fault{name, func(t *testing.T, f *faulty) (int64, []string) {
		object := manifest.Name(f.new.ID)
		changed(object, func(text []byte) []byte { return become(t, f, text) })(t, f)
		return -1, []string{object}
	}}
}

func flip(text []byte) []byte {
	text[mrand.IntN(len(text))] ^= 1 << mrand.IntN(8)
	return text
}

// cut takes the end away, but leaves a byte: stores keep no empty objects.
func cut(text []byte) []byte { return text[:1+mrand.IntN(len(text)-1)] }

// torn has something else from some place on, as after a power cut.
func torn(text []byte) []byte {
	from := mrand.IntN(len(text))
	clear(text[from:])
	text[from] ^= 0xff // what is lost may have been zeros
	return text
}

// sealedByAnother is a good object that anybody can make who knows the recipient.
func sealedByAnother(t *testing.T, f *faulty, n int64, _ []byte) []byte {
	t.Helper()
	s, err := chunk.NewSealer([]age.Recipient{f.key.Recipient()})
	must(t, err)
	plain := make([]byte, min(faultyChunk, int64(len(f.stream))-n*faultyChunk))
	_, _ = rand.Read(plain)
	text, err := s.Seal(plain)
	must(t, err)
	return bytes.Clone(text)
}

// faults are those of the promise: flipped, torn, truncated, swapped, replayed, forged.
var faults = []fault{
	ofChunk("flipped chunk", func(_ *testing.T, _ *faulty, _ int64, text []byte) []byte { return flip(text) }),
	ofChunk("torn chunk", func(_ *testing.T, _ *faulty, _ int64, text []byte) []byte { return torn(text) }),
	ofChunk("truncated chunk", func(_ *testing.T, _ *faulty, _ int64, text []byte) []byte { return cut(text) }),
	ofChunk("lengthened chunk", func(_ *testing.T, _ *faulty, _ int64, text []byte) []byte { return append(text, text[:10]...) }),
	ofChunk("chunk of an older backup", func(t *testing.T, f *faulty, n int64, _ []byte) []byte {
		return f.get(t, manifest.ChunkName(f.old.ID, 0, n))
	}),
	ofChunk("forged chunk", sealedByAnother),
	{"swapped chunks", func(t *testing.T, f *faulty) (int64, []string) {
		a := mrand.Int64N(f.chunks() - 1)
		b := a + 1 + mrand.Int64N(f.chunks()-a-1)
		names := []string{manifest.ChunkName(f.new.ID, 0, a), manifest.ChunkName(f.new.ID, 0, b)}
		first, second := bytes.Clone(f.get(t, names[0])), bytes.Clone(f.get(t, names[1]))
		f.lay(t, names[0], second)
		f.lay(t, names[1], first)
		return a, names
	}},
	{"removed chunk", func(t *testing.T, f *faulty) (int64, []string) {
		n := mrand.Int64N(f.chunks())
		name := manifest.ChunkName(f.new.ID, 0, n)
		must(t, f.Delete(t.Context(), name))
		return n, []string{name}
	}},
	{"forged list", func(t *testing.T, f *faulty) (int64, []string) {
		name := manifest.PartName(f.new.ID, 0, 0)
		var all []manifest.Chunk
		must(t, json.Unmarshal(f.get(t, name), &all))
		i := mrand.IntN(len(all))
		object := manifest.ChunkName(f.new.ID, 0, int64(i))
		forged := sealedByAnother(t, f, int64(i), nil)
		all[i].Size, all[i].SHA256 = int64(len(forged)), fmt.Sprintf("%x", sha256.Sum256(forged))
		text, err := json.Marshal(all)
		must(t, err)
		f.lay(t, object, forged)
		f.lay(t, name, text)
		return -1, []string{name, object}
	}},
	ofManifest("flipped manifest", func(t *testing.T, _ *faulty, text []byte) []byte {
		at := mrand.IntN(len(text) - 3) // behind that are bits of the signature that mean nothing
		text[at] ^= 1 << mrand.IntN(7)
		return text
	}),
	ofManifest("truncated manifest", func(_ *testing.T, _ *faulty, text []byte) []byte { return cut(text) }),
	ofManifest("torn manifest", func(_ *testing.T, _ *faulty, text []byte) []byte { return torn(text[:len(text)-3]) }),
	ofManifest("replayed manifest", func(t *testing.T, f *faulty, _ []byte) []byte { return f.get(t, manifest.Name(f.old.ID)) }),
	ofManifest("forged manifest", func(t *testing.T, f *faulty, _ []byte) []byte { // by somebody of the same name
		private, _, err := note.GenerateKey(rand.Reader, f.sign.Name())
		must(t, err)
		signer, err := note.NewSigner(private)
		must(t, err)
		m := f.new
		m.Began = m.Began.Add(time.Second)
		text, err := manifest.Sign(m, signer)
		must(t, err)
		return text
	}),
	ofManifest("manifest with another's text", func(t *testing.T, f *faulty, text []byte) []byte {
		_, signature, _ := strings.Cut(string(f.get(t, manifest.Name(f.old.ID))), "\n\n")
		body, _, _ := strings.Cut(string(text), "\n\n")
		return []byte(body + "\n\n" + signature)
	}),
}

// TestThousandFaults changes objects of a real store at random, and restores to a command that keeps what it is given.
func TestThousandFaults(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		d, err := dir.Open(t.TempDir())
		must(t, err)
		t.Cleanup(func() { _ = d.Close() })
		thousandFaults(t, d, 90)
	})
	t.Run("S3", func(t *testing.T) {
		sandbox.NeedTime(t, "a server of S3 is built in two minutes: make test-real does")
		box := sandbox.ForTest(t, "")
		c := box.S3(t)
		b, err := s3.Open(s3.Options{Endpoint: c.Endpoint, Region: "us-east-1", Bucket: c.Bucket, Prefix: "faults", Key: c.Key, Secret: c.Secret})
		must(t, err)
		thousandFaults(t, b, 1000)
	})
}

func thousandFaults(t *testing.T, s store.Store, rounds int) {
	if os.Getenv("PLUMB_REAL") != "" {
		rounds = 1000
	}
	f := newFaulty(t, s)
	if err := f.restored(t, -2); err != nil {
		t.Fatalf("before anything is wrong: %v", err)
	}
	caught, good := map[string]int{}, f.keep(t)
	for i := range rounds {
		one := faults[i%len(faults)]
		first, names := one.do(t, f)
		if err := f.restored(t, first); err != nil {
			caught[one.name]++
		} else {
			t.Errorf("%s is not caught", one.name)
		}
		for _, name := range names {
			f.lay(t, name, good[name])
		}
	}
	if err := f.restored(t, -2); err != nil {
		t.Fatalf("after everything was put back: %v", err)
	}
	t.Logf("%d faults: caught %v", rounds, caught)
}

// keep reads all objects of the newer backup.
func (f *faulty) keep(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	must(t, f.List(t.Context(), manifest.Folder(f.new.ID), func(i store.Info) error {
		all[i.Name] = nil
		return nil
	}))
	for name := range all {
		all[name] = bytes.Clone(f.get(t, name))
	}
	return all
}

// restored restores the newer backup, and looks at what its reader was given: with a fault only what comes before the first
// chunk that is wrong, and never an end. -2 for no fault.
func (f *faulty) restored(t *testing.T, first int64) error {
	t.Helper()
	for _, name := range []string{f.out, f.done} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	m, err := f.vault.Get(t.Context(), f.new.ID)
	if err == nil {
		err = backup.Restore{Vault: f.vault, Do: f.do, Keys: []age.Identity{f.key}, Workers: 3}.Command(t.Context(), m, 0, fmt.Sprintf("cat > '%s' && touch '%s'", f.out, f.done))
	}
	got, bad := os.ReadFile(f.out)
	if bad != nil && !errors.Is(bad, os.ErrNotExist) {
		t.Fatal(bad)
	}
	_, ended := os.Stat(f.done)
	switch {
	case first == -2 && !bytes.Equal(got, f.stream):
		t.Errorf("%d of %d bytes came back, or others", len(got), len(f.stream))
	case first >= -1 && (int64(len(got)) > max(0, first)*faultyChunk || !bytes.HasPrefix(f.stream, got)):
		t.Errorf("chunk %d is wrong, and %d bytes were passed on, the right ones: %t", first, len(got), bytes.HasPrefix(f.stream, got))
	case first >= -1 && ended == nil:
		t.Error("the reader saw the end of a stream that was cut")
	}
	return err
}

// TestWrongKey opens nothing.
func TestWrongKey(t *testing.T) {
	d, err := dir.Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { _ = d.Close() })
	f := newFaulty(t, d)
	f.key, err = age.GenerateX25519Identity()
	must(t, err)
	if err := f.restored(t, 0); !errors.Is(err, chunk.ErrKey) || !strings.Contains(err.Error(), "chunk 0") {
		t.Error(err)
	}
}
