package test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/cli"
	"plumb/internal/view/viewtest"
)

// update is the flag of all goldens.
var update = viewtest.Update

// TestFixtures replays every captured host and compares what check says with
// what stands beside the tape: the whole way from a machine's answers to the
// sentences. Read the difference before you accept it with make golden: is
// each sentence right for that host?
func TestFixtures(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8") // the tree is drawn with lines
	tapes, err := filepath.Glob("../fixtures/*.tape.gz")
	if err != nil || len(tapes) < 16 {
		t.Fatalf("found %d tapes, %v", len(tapes), err)
	}
	for _, tape := range tapes {
		name := strings.TrimSuffix(filepath.Base(tape), ".tape.gz")
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"check", "stack"} {
				compare(t, strings.TrimSuffix(tape, ".tape.gz")+"."+command+".txt", plumb(t, command, "--tape", tape))
			}
		})
	}
}

// plumb runs a command in this process.
func plumb(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Main(args, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("plumb %s: exit %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.Bytes()
}

func compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v: make golden writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (- expected, + now): make golden accepts it\n%s", golden, diff)
	}
}
