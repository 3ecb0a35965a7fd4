// Package counted keeps what came of planted incidents, one line for each run,
// and makes the table of them. Nothing is left out of it: a run that failed
// before anything was said is a run that was wrong.
package counted

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Run is one run of an incident, or of its twin.
type Run struct {
	Test    string   `json:"test"`              // TestADeviceIsSaturated/incident
	Run     int      `json:"run"`               // 1, 2, 3, …
	Frozen  string   `json:"frozen"`            // checksum of the program that planted and judged, thresholds included
	Wanted  string   `json:"wanted"`            // verdict; "" for none
	Said    string   `json:"said"`              // the one that answers; "" for none
	First   string   `json:"first"`             // what was said first of all
	All     []string `json:"all"`               // all that was said, sorted
	True    []string `json:"true,omitempty"`    // what is true of the scene besides, by how it is made
	Right   bool     `json:"right"`             // as the test wants it
	Seconds *float64 `json:"seconds"`           // from the load on until it was raised; null: never, or not counted
	Why     string   `json:"why,omitempty"`     // it failed, in the words of the test
	Skipped string   `json:"skipped,omitempty"` // why it did not run: it counts neither as right nor as wrong
}

// Twin tells whether nothing was planted.
func (r Run) Twin() bool { return path.Base(r.Test) == "twin" }

// Idle is neither right nor wrong of a scene: its clients ask for no more, which they may beside anything.
const Idle = "client/idle"

// False lists what was said of a twin and is not true of it.
func (r Run) False() []string {
	var out []string
	for _, id := range r.All {
		if id != Idle && !slices.Contains(r.True, id) {
			out = append(out, id)
		}
	}
	return out
}

// Into is the variable that names the file a test adds its runs to.
const Into = "PLUMB_RUNS"

// Add adds a run to the file that [Into] names, where it names one.
func Add(r Run) error {
	if name := os.Getenv(Into); name != "" {
		return Append(name, r)
	}
	return nil
}

// Append adds a run to a file, on a line of its own whatever stands at its end.
func Append(name string, r Run) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	var last [1]byte
	if at, err := f.Seek(0, io.SeekEnd); err == nil && at > 0 {
		if _, err := f.ReadAt(last[:], at-1); err == nil && last[0] != '\n' { // somebody was killed while writing
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// Read reads all runs of a file; none where there is no file. Of lines that are
// none, because somebody was killed while writing, it says how many.
func Read(name string) (all []Run, torn int, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r Run
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Test != "" {
			all = append(all, r)
		} else {
			torn++
		}
	}
	return all, torn, lines.Err()
}

// said is what tests print of a test that ended.
const said = "--- "

// Merge joins what a test noted with what became of it by the output of go test -v. A test
// that failed was wrong, whatever it noted before.
func Merge(noted []Run, output string) []Run {
	ended := map[string]string{}
	var names []string
	for line := range strings.Lines(output) {
		result, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), said), ": ")
		name, _, _ := strings.Cut(rest, " ")
		if ok && strings.HasPrefix(strings.TrimSpace(line), said) && slices.Contains([]string{"PASS", "FAIL", "SKIP"}, result) {
			ended[name] = result
			names = append(names, name)
		}
	}
	var out []Run
	for _, r := range noted {
		if result, over := ended[r.Test]; result == "FAIL" || !over {
			r.Right, r.Why = false, why(output, r.Test)
		}
		out = append(out, r)
	}
	for _, name := range names {
		parent := slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+"/") })
		if parent || slices.ContainsFunc(out, func(r Run) bool { return r.Test == name }) || ended[name] == "PASS" {
			continue
		}
		r := Run{Test: name}
		if ended[name] == "SKIP" {
			r.Skipped = why(output, name)
		} else {
			r.Why = why(output, name)
		}
		out = append(out, r)
	}
	return out
}

// why is the first line of a test's own below its end, or what the run ended with.
func why(output, test string) string {
	lines := strings.Split(output, "\n")
	began := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "=== RUN ") && strings.TrimSpace(l[8:]) == test })
	for _, l := range lines[max(began, 0):] {
		text := strings.TrimSpace(l)
		if strings.HasPrefix(text, "panic: ") {
			return text
		}
		at, what, ok := strings.Cut(text, ": ")
		if ok && strings.Contains(at, "_test.go:") && !strings.HasPrefix(what, "RUN ") && !strings.HasPrefix(what, "learned") {
			return what
		}
	}
	return "it ended without a word"
}
