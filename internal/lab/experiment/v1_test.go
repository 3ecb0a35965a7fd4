package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/hint"
)

// The files in testdata/v1 are those of 2026-11-23 (3baf977), under the hashes that
// their trials have in ledgers: with another, none of them would be gone on with.
func TestReadsWhatEarlierPlumbsRead(t *testing.T) {
	files, err := filepath.Glob("testdata/v1/*.yaml")
	if err != nil || len(files) != len(v1Hashes) {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		x, err := Parse(file, text)
		if err != nil || x.Hash != v1Hashes[x.Name] {
			t.Errorf("%s has the hash %s: %v", x.Name, x.Hash, err)
		}
	}
}

var v1Hashes = map[string]string{
	"aa-turns":          "9cb7cc76f68085df0a1bb6085152c47cb497f0e45ba129c0d6db68d35264de95",
	"ext4-zfs":          "97b78c5c91a1eb29b679106f9dce85360aea677b42b254b1a6d2e26942ec67c4",
	"fileio-saturation": "d5e6376a3da3d78ec545265360857f7079efce147d7a4fab458ec38538c0f1b4",
	"fsync-by-volume":   "0c613a711de2ce584071e0d7eb21da2fbd9d24ec9dbe71d253d2db648ef63904",
	"recordsize":        "bfcc9272097ceb772bbcb99d118ce1b6f86fd4ca22a423569a3f91be460e54f1",
	"sync-binlog":       "7a9fe559a397bc3eeca00cb82c44caf7723a9d4e941062d4416ae168d7c68bb6",
}

// A file may say of which form it is; one of a newer form is refused for that, and
// not for what is unknown in it.
func TestFormOfAFile(t *testing.T) {
	if got, want := parsed(t, "plumb: 1\n"+small).Hash, parsed(t, small).Hash; got != want {
		t.Errorf("with its form it has the hash %s, not %s", got, want)
	}
	_, err := Parse("later.yaml", []byte("plumb: 2\n"+strings.Replace(small, "question", "ask", 1)))
	const want = "later.yaml:1: it is an experiment of version 2, and this plumb knows versions up to 1"
	if err == nil || err.Error() != want || !strings.Contains(hint.Of(err), "newer plumb") {
		t.Errorf("got %v, hint %q", err, hint.Of(err))
	}
	if _, err := Parse("wrong.yaml", []byte("plumb: one\n"+small)); err == nil || !strings.Contains(err.Error(), "plumb is a whole number") {
		t.Errorf("got %v", err)
	}
}
