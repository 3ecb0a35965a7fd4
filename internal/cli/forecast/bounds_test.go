package forecast

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
)

// TestFilesThatNeverEnd: a device that was named for a file is refused, and takes no memory from those beside us.
func TestFilesThatNeverEnd(t *testing.T) {
	for line, want := range map[string][2]string{
		"space --csv /dev/zero":                                 {"read /dev/zero: it is too large: more than 256M", "a row a day is enough"},
		"cache --csv /dev/zero --at 1G":                         {"read /dev/zero: it is too large: more than 64M", ""},
		"wear --csv /dev/zero":                                  {"read /dev/zero: it is too large: more than 64M", ""},
		"volume --size 1T --iops 100 --cloud /dev/zero":         {"read /dev/zero: it is too large: more than 64M", ""},
		"load --over extra --csv /dev/zero --at 100":            {"read /dev/zero: it is too large: more than 64M", ""},
		"cache --trace /dev/zero --block 16K --at 1G":           {"a line has more than 4096 bytes", ""},
		"load --over iops --csv /dev/zero --clients 8 --at 500": {"read /dev/zero: it is too large: more than 64M", ""},
	} {
		var out bytes.Buffer
		s := shell.New(strings.NewReader(""), &out, &out)
		c := Command(&s, nil)
		c.SetArgs(strings.Fields(line))
		c.SilenceErrors, c.SilenceUsage = true, true
		if err := c.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(hint.Of(err), want[1]) {
			t.Errorf("%s: %v, hint %q", line, err, hint.Of(err))
		}
	}
}

// TestAKeptFileThatIsTooLarge is left out, and the others are judged.
func TestAKeptFileThatIsTooLarge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "20260101-0.json")
	for name, size := range map[string]int64{large: mostKeptBytes + 1, filepath.Join(dir, "20260102-0.json"): 0} {
		if err := os.WriteFile(name, []byte(`[{"plumb":1,"quantity":{"of":"tank"},"points":[]}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		if size > 0 {
			if err := os.Truncate(name, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &out)
	kept, err := readKept(&s, dir)
	if err != nil || len(kept) != 1 || !strings.Contains(out.String(), "20260101-0.json is left out: it is too large: more than 64M") {
		t.Errorf("%+v, %v, %s", kept, err, out.String())
	}
}

// TestAnAnswerThatNeverEnds: what to ask instead is said, and not whether it runs.
func TestAnAnswerThatNeverEnds(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for text := bytes.Repeat([]byte(" "), 1<<20); ; {
			if _, err := fmt.Fprintf(w, "%s", text); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	_, _, err := source{prometheus: s.URL}.read(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "the answer has more than 64M") || !strings.Contains(hint.Of(err), "ask for fewer series") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
	if _, _, err := (source{prometheus: "http://127.0.0.1:1"}).read(t.Context(), nil); err == nil || !strings.Contains(hint.Of(err), "is it running") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}
