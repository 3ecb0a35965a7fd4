package inventory_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/journal"
)

// The books of testdata were left by labs that were killed, of the last Plumb
// whose books have form 1: on a loop device with limits and a setting of the
// kernel, on a pool of zfs-fuse, and on a dataset of such a pool.

func form1(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/form1-" + name + ".book")
	must(t, err)
	return text
}

func TestForm1IsListed(t *testing.T) {
	books := t.TempDir()
	for name, run := range map[string]string{"loop": "7c914f9", "pool": "7ca04c2", "dataset": "7ca92d5"} {
		must(t, os.WriteFile(filepath.Join(books, run+".book"), form1(t, name), 0o600))
	}
	left, err := kinds.Books(hosttest.LiveDoer(t), books).List(t.Context())
	must(t, err)
	got := map[string]string{}
	for _, l := range left {
		var all []string
		for _, thing := range l.Things {
			all = append(all, thing.Kind)
		}
		got[l.Run] = strings.Join(all, " ")
		if l.Live || len(l.Living) > 0 {
			t.Errorf("%+v", l)
		}
	}
	for run, want := range map[string]string{
		"7c914f9": "limit limit limit limit process group group sysctl mount loop file tree",
		"7ca04c2": "process process group group pool loop file tree",
		"7ca92d5": "process group group dataset tree",
	} {
		if got[run] != want {
			t.Errorf("%s: %s, want %s", run, got[run], want)
		}
	}
}

// moved gives a book of form 1 whose directory lies elsewhere, with the inodes
// of what is there now.
func moved(t *testing.T, text []byte, from, to string) []byte {
	t.Helper()
	log, err := journal.Read(text)
	must(t, err)
	var next journal.Log
	var out bytes.Buffer
	for _, r := range log.Records {
		var body map[string]any
		must(t, json.Unmarshal(bytes.ReplaceAll(r.Body, []byte(from), []byte(to)), &body))
		if thing, ok := body["thing"].(map[string]any); ok && r.Kind == "made" {
			if proof, ok := thing["proof"].(map[string]any); ok && proof["inode"] != nil {
				proof["inode"] = inodeOf(t, thing["name"].(string))
			}
		}
		line, err := next.Append(r.At, r.Kind, body)
		must(t, err)
		out.Write(line)
	}
	return out.Bytes()
}

// inodeOf is an inode as books name it.
func inodeOf(t *testing.T, name string) string {
	t.Helper()
	st, err := os.Stat(name)
	must(t, err)
	sys := st.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d %d", sys.Dev>>8&0xfff, sys.Dev&0xff, sys.Ino)
}

func TestForm1IsSwept(t *testing.T) {
	books, at := t.TempDir(), t.TempDir()
	dir := filepath.Join(at, "plumb-lab-7c914f9")
	must(t, errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, inventory.Marker), []byte("7c914f9\n"), 0o600), os.WriteFile(filepath.Join(dir, "v1.img"), nil, 0o600)))
	must(t, os.WriteFile(filepath.Join(books, "7c914f9.book"), moved(t, form1(t, "loop"), "/tmp/hz/fx/d-loop", at), 0o600))
	swept, err := kinds.Books(hosttest.LiveDoer(t), books).Sweep(t.Context())
	must(t, err)
	for _, s := range swept {
		if s.Err != nil && !errors.Is(s.Err, inventory.ErrForeign) { // a loop device of that number may be somebody's
			t.Errorf("%+v: %v", s.Thing, s.Err)
		}
	}
	if len(swept) != 12 || exists(dir) || exists(filepath.Join(books, "7c914f9.book")) {
		t.Errorf("%d swept; the directory is left: %v", len(swept), exists(dir))
	}
}

// A book of a newer form is refused as it is, with a hint, by all that touches books.
func TestNewerBookIsUntouched(t *testing.T) {
	h, books := hosttest.LiveDoer(t), t.TempDir()
	text, err := new(journal.Log).Append(journalTime, "begin", map[string]any{"version": inventory.Version + 1, "run": "later"})
	must(t, err)
	file := filepath.Join(books, "later.book")
	must(t, os.WriteFile(file, text, 0o600))
	_, listed := kinds.Books(h, books).List(t.Context())
	_, swept := kinds.Books(h, books).Sweep(t.Context())
	_, tried := kinds.Books(h, books).TryRemove(t.Context(), inventory.File, "/x/y")
	for what, err := range map[string]error{
		"list": listed, "sweep": swept, "try": tried,
		"remove": kinds.Books(h, books).RemoveOne(t.Context(), inventory.File, "/x/y"),
		"forget": kinds.Books(h, books).Forget(t.Context(), inventory.File, "/x/y"),
		"adopt":  kinds.Books(h, books).Adopt(t.Context(), inventory.Thing{Kind: inventory.File, Name: "/x/y"}),
	} {
		if err == nil || !strings.Contains(err.Error(), "of a later Plumb") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, text) {
		t.Errorf("the book is now %q (%v)", now, err)
	}
}
