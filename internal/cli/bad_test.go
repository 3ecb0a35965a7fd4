package cli

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/cli/shell"
)

// result is what a command came to, run in this process.
type result struct {
	out, err string
	code     int
}

func run(in []byte, args ...string) result {
	var out, errs bytes.Buffer
	code := Main(args, bytes.NewReader(in), &out, &errs)
	return result{out.String(), errs.String(), code}
}

// smallTape is a tape of a host with a name and nothing else.
const smallTape = "{\"plumb_tape\":1,\"about\":{\"taken\":\"2026-01-02T03:04:05Z\",\"root\":true,\"user\":\"root\",\"plumb\":\"test\"}}\n" +
	"{\"op\":\"file\",\"of\":[\"/proc/sys/kernel/hostname\"],\"text\":\"db1\\n\"}\n" +
	"{\"plumb_tape_end\":1,\"entries\":1,\"sha256\":\"SUM\"}\n"

func tapeText(t *testing.T) []byte {
	t.Helper()
	head, _, _ := strings.Cut(smallTape, "{\"plumb_tape_end\"")
	return []byte(strings.Replace(smallTape, "SUM", sum(head), 1))
}

func zipped(text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	return b.Bytes()
}

// spoilt are the ways a tape goes wrong, and what the person is told.
func spoilt(good []byte) []struct {
	name string
	text []byte
	says string // after the file's name
	hint string
} {
	const again, foreign = "copy the tape again", "a tape is made by `plumb capture`"
	flipped := bytes.Clone(good)
	flipped[bytes.Index(flipped, []byte("db1"))] ^= 1
	return []struct {
		name string
		text []byte
		says string
		hint string
	}{
		{"flipped", flipped, "line 3: it is not as it was written: the checksum differs", again},
		{"cut", good[:len(good)/2], "not an entry", again},
		{"no-trailer", good[:bytes.Index(good, []byte("{\"plumb_tape_end"))], "it ends here without its last line: it was cut", again},
		{"empty", nil, "is not a Plumb tape", foreign},
		{"foreign", []byte("[mysqld]\nport=3306\n"), "is not a Plumb tape", foreign},
		{"elf", []byte("\x7fELF\x02\x01\x01\x00\x00"), "is not a Plumb tape", foreign},
		{"gz-garbage", []byte("\x1f\x8b\x08\x00garbagegarbage"), "", again},
		{"gz-cut", zipped(good)[:60], "", again},
		{"newer", bytes.Replace(good, []byte("{\"plumb_tape\":1"), []byte("{\"plumb_tape\":2"), 1), "format 2 is newer than this Plumb, which reads up to 1", "read it with a newer Plumb"},
		{"more", append(bytes.Clone(good), "x\n"...), "something follows its last line", again},
	}
}

func TestSpoiltTapes(t *testing.T) {
	good := tapeText(t)
	if r := run(good, "check", "--tape", "-"); r.code != 0 || !strings.Contains(r.out, "db1") {
		t.Fatalf("the good tape: exit %d, %s%s", r.code, r.out, r.err)
	}
	for _, c := range spoilt(good) {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), c.name+".tape")
			if err := os.WriteFile(name, c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, r := range []result{run(nil, "check", "--tape", name), run(nil, "stack", "--tape", name), run(nil, "check", "--json", "--tape", name)} {
				wantError(t, r, "plumb: read tape "+name, c.says, c.hint)
			}
			wantError(t, run(c.text, "check", "--tape", "-"), "plumb: read tape standard input", c.says, c.hint)
		})
	}
}

func wantError(t *testing.T, r result, begins, says, hint string) {
	t.Helper()
	if r.code != shell.ExitUnread || r.out != "" {
		t.Errorf("exit %d, %d bytes of output", r.code, len(r.out))
	}
	if !strings.HasPrefix(r.err, begins) || !strings.Contains(r.err, says) || !strings.Contains(r.err, "\nhint: "+hint) {
		t.Errorf("it says:\n%s", r.err)
	}
	if strings.Count(r.err, "\n") != 2 {
		t.Errorf("an error is one line and a hint, not:\n%s", r.err)
	}
}

// No bit of a tape can flip without being noticed, and none makes it break.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	good := tapeText(t)
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if _, err := (&app{Shell: shell.Shell{In: bytes.NewReader(bad)}}).openTape("-"); err == nil && !harmless(good, bad, i) {
				t.Errorf("bit %d of byte %d (%q) went unnoticed", bit, i, good[i])
			}
		}
	}
}

// harmless are the bits of the last line whose change leaves its meaning: the
// version of the trailer, and the case of a letter in its field names, which
// JSON in Go passes over.
func harmless(good, bad []byte, i int) bool {
	trailer := bytes.Index(good, []byte("{\"plumb_tape_end\""))
	return i >= trailer && (strings.EqualFold(string(good), string(bad)) || i < trailer+len("{\"plumb_tape_end\":1"))
}

// One bad tape among good ones is named; the others are judged all the same.
func TestBadTapeAmongGoodOnes(t *testing.T) {
	dir, good := t.TempDir(), tapeText(t)
	for name, text := range map[string][]byte{"a.tape": good, "b.tape.gz": zipped(good), "sub/c.tape": good} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	if r := run(nil, "check", "--tape", dir); r.code != 0 || !strings.Contains(r.out, "3 hosts judged") {
		t.Fatalf("exit %d: %s%s", r.code, r.out, r.err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "bad.tape"), good[:40], 0o600))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling.tape")))
	r := run(nil, "check", "--tape", dir)
	for _, part := range []string{"3 hosts judged", "2 tapes could not be read", "bad.tape", "dangling.tape"} {
		if !strings.Contains(r.out, part) {
			t.Errorf("%q is not in\n%s", part, r.out)
		}
	}
	if r.code != shell.ExitUnread || !strings.Contains(r.err, "2 could not be read") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	r = run(nil, "check", "--json", "--tape", dir)
	if r.code != shell.ExitUnread || strings.Count(r.out, "\n") != 3 || !strings.Contains(r.err, "bad.tape") {
		t.Errorf("json: exit %d, %d documents, %s", r.code, strings.Count(r.out, "\n"), r.err)
	}
}

// What capture cannot write is never left half, and what is there is never
// lost or removed.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	must(t, os.Symlink("/dev/full", full))
	r := run(nil, "capture", "--timeout", "50ms", "-o", full)
	if r.code != shell.ExitUnread || !strings.HasPrefix(r.err, "plumb: write the tape to "+full+": no space left on device\nhint: ") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	for _, name := range []string{full, "/dev/full"} {
		if _, err := os.Lstat(name); err != nil {
			t.Errorf("it was removed: %v", err)
		}
	}
	kept := filepath.Join(dir, "kept.tape")
	must(t, os.WriteFile(kept, []byte("precious"), 0o640))
	r = run(nil, "capture", "--timeout", "50ms", "-o", kept)
	if want := "plumb: write the tape: " + kept + " is there already\nhint: give another name, or --force to replace it\n"; r.code != shell.ExitUnread || r.err != want {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if text, _ := os.ReadFile(kept); string(text) != "precious" {
		t.Errorf("it now holds %.40q", text)
	}
	if r = run(nil, "capture", "--timeout", "50ms", "--force", "-o", kept); r.code != 0 {
		t.Errorf("with --force: %s", r.err)
	}
	if r = run(nil, "check", "--tape", kept); r.code != 0 {
		t.Errorf("the replaced tape: %s", r.err)
	}
	for _, name := range []string{dir, filepath.Join(dir, "no", "x.tape")} {
		if r = run(nil, "capture", "--timeout", "50ms", "-o", name); r.code != shell.ExitUnread || !strings.Contains(r.err, name) {
			t.Errorf("-o %s: exit %d, %s", name, r.code, r.err)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// A misspelt name never passes for a healthy host.
func TestOnlyWhatIsThere(t *testing.T) {
	for _, command := range []string{"check", "stack"} {
		r := run(tapeText(t), command, "--tape", "-", "--only", "mysql:9999")
		if r.code != shell.ExitUsage || r.err != "plumb: --only mysql:9999 is not on this host\nhint: plumb stack shows what there is\n" || r.out != "" {
			t.Errorf("%s: exit %d: %s%s", command, r.code, r.out, r.err)
		}
	}
	r := run(tapeText(t), "stack", "--tape", "-", "--only", "nonsense")
	if r.code != shell.ExitUsage || !strings.HasPrefix(r.err, "plumb: --only nonsense is not a server\nhint: use mysql, postgres, mongo") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func sum(head string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(head))) }
