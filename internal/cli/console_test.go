package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/cli/shell"
	"plumb/internal/host/hosttest"
	"plumb/internal/inventory"
	"plumb/internal/journal"
)

// hostileName drives terminals in all the ways there are: with ESC, with the
// one character of C1 that stands for ESC [, by going back in the line, by
// turning the text round, and by making a line of its own.
const hostileName = "\x1b]0;owned\x07\u009b2J\rok\u202e\x7f\nplumb: all is well"

// drives tells whether a text holds any of that.
func drives(text string) bool { return strings.ContainsAny(text, "\x1b\x07\u009b\r\u202e\x7f") }

// What strangers wrote reaches the terminal as text, whatever the command, on
// both streams: a plan's host, a journal's place, a tape's name and content.
func TestNothingDrivesTheTerminal(t *testing.T) {
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	must(t, os.WriteFile(plan, []byte(fmt.Sprintf(`{"plumb":1,"kind":"plan","host":%q,"taken_at":"2026-01-01T00:00:00Z","steps":[]}`, "x"+hostileName)), 0o600))
	tape := filepath.Join(dir, "a"+hostileName+".tape")
	must(t, os.WriteFile(tape, []byte("no tape"), 0o600))
	state := filepath.Join(dir, "state")
	must(t, os.Mkdir(state, 0o700))
	must(t, os.WriteFile(filepath.Join(state, "change-000001.journal"), hostileJournal(t), 0o600))
	image := filepath.Join(dir, "image")
	must(t, os.MkdirAll(filepath.Join(image, "var/lib"), 0o700))
	must(t, os.Rename(state, filepath.Join(image, "var/lib/plumb")))
	must(t, os.Symlink(filepath.Join(image, "var/lib/plumb"), state))
	for _, args := range append(hostileCommands(t, dir, plan, tape, state, image), hostilePoint(t)...) {
		var out, errs bytes.Buffer
		Main(args, strings.NewReader(""), &out, &errs)
		if drives(out.String()) || drives(errs.String()) {
			t.Errorf("%q:\n%q\n%q", args, out.String(), errs.String())
		}
		if strings.Contains("\n"+errs.String(), "\nplumb: all is well") {
			t.Errorf("%q forged a line: %q", args, errs.String())
		}
		if out.Len()+errs.Len() == 0 {
			t.Errorf("%q says nothing", args)
		}
	}
}

// hostileSheet makes the state of a host whose recovery sheet has such names.
func hostileSheet(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var out bytes.Buffer
	if code := Main([]string{"backup", "key", "--state", dir}, strings.NewReader(""), &out, &out); code != 0 {
		t.Fatalf("%s", &out)
	}
	must(t, os.Mkdir(filepath.Join(dir, "sheets"), 0o700))
	text, err := json.Marshal(map[string]any{"host": "x" + hostileName, "url": "s3://" + hostileName, "endpoint": hostileName, "region": hostileName, "recipients": []string{hostileName}, "public": hostileName})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "sheets", "x.json"), text, 0o600))
	return dir
}

// hostileCommands are command lines with such names, and with files that have or hold them.
func hostileCommands(t *testing.T, dir, plan, tape, state, image string) [][]string {
	t.Helper()
	return [][]string{
		{"fix", plan},
		{"fix", plan, "--set", hostileName},
		{"fix", "--set", hostileName + "=1", "--root", image},
		{"boost", hostileName, "1m", "--dry-run"},
		{"boost", "x", hostileName, "--", "true"},
		{"provision", "cache", "judge", "--before", hostileName},
		{"provision", "cache", "judge", "--fsync", hostileName},
		{"provision", "cache", "compare", hostileName, hostileName, hostileName},
		{"watch", hostileName},
		{"watch", "replay", "--dir", filepath.Join(dir, hostileName)},
		{"watch", "replay", "--at", hostileName},
		{"watch", "replay", "--from-file", tape, "--at", "03:12"},
		{"watch", "export", "--dir", filepath.Join(dir, hostileName)},
		{"watch", "nagios", "--from", hostileName},
		{"watch", "emit", hostileName},
		{"watch", "capture", "--on", hostileName},
		{"watch", "metrics", "--once", "--textfile", filepath.Join(dir, hostileName, "x.prom")},
		{"forecast", "cache", "--csv", filepath.Join(dir, hostileName), "--at", "1G"},
		{"forecast", "cache", "--csv", hostileTable(t), "--at", "1G"},
		{"forecast", "wear", "--csv", hostileTable(t)},
		{"forecast", "wear", "--dir", filepath.Join(dir, hostileName)},
		{"forecast", "load", "--over", hostileName, "--csv", tape, "--at", "1"},
		{"forecast", "volume", "--size", "1G", "--iops", "9", "--instance", hostileName},
		{"forecast", "volume", "--size", "1G", "--iops", "9", "--cloud", tape},
		{"forecast", "zfs", "--tape", tape},
		{"forecast", "space", "--csv", tape},
		{"forecast", "space", "--at", hostileName},
		{"forecast", "space", "--prometheus", hostileName},
		{"forecast", "score", "--kept", filepath.Join(dir, hostileName)},
		{"check", "--tape", tape},
		{"check", "--tape", dir},
		{"check", "--tape", dir, "--json"},
		{"history", "--state", state},
		{"history", "1", "--state", state},
		{"history", "--state", state, "--json"},
		{"undo", "--state", state, "--dry-run"},
		{"undo", "--state", state, "--dry-run", "--json"},
		{"undo", "--root", image, "--yes"},
		{hostileName},
		{"check", "--" + hostileName},
		{"explain", hostileName},
		{"lab", "run", filepath.Join(dir, hostileName)},
		{"inventory", "--state", hostileBook(t)},
		{"inventory", "--json", "--state", hostileBook(t)},
		{"inventory", "remove", "file", hostileFile, "--dry-run", "--state", hostileBook(t)},
		{"inventory", "forget", "file", hostileFile, "--yes", "--state", hostileBook(t)},
		{"inventory", "adopt", "file", hostileName, "--state", hostileBook(t)},
		{"inventory", "remove", hostileName, hostileName},
		{"lab", "sweep", "--dry-run", "--state", hostileBook(t)},
		{"backup", "list", "--from", "file://" + filepath.Join(dir, hostileName)},
		{"backup", "list", "--from", "s3://bucket/x?" + url.QueryEscape(hostileName) + "=x"},
		{"backup", "copy", hostileName, "--from", "file://" + dir, "--to", "s3://" + hostileName, "--state", dir},
		{"backup", "copy", hostileName, "--from", "file://" + dir, "--to", "file://" + dir + "/.", "--state", dir},
		{"backup", "sheet", "--state", hostileSheet(t)},
		{"backup", "prune", hostileName, "--from", "file://" + dir, "--state", dir, "--dry-run"},
		{"backup", "hold", hostileName, "--as", hostileName, "--from", "file://" + dir, "--state", dir},
		{"backup", "prune", "--keep", hostileName, "--from", "file://" + dir},
		{"backup", "prune", "--undo", hostileName, "--from", "file://" + dir, "--state", dir},
		{"backup", "--command", hostileName, "--to", "file://" + dir, "--recipient", hostileName, "--state", dir},
		{"restore", hostileName, "--from", hostileName, "--identity", tape, "--output", filepath.Join(dir, "out")},
		{"verify", hostileName, "--from", "file://" + dir, "--state", dir},
		{"archive", "list", "--from", "file://" + filepath.Join(dir, hostileName)},
		{"archive", "push", hostileName},
		{"archive", "status", "--state", filepath.Join(dir, hostileName)},
		{"archive", "run", "--to", "file://" + dir, "--recipient", hostileName, "--wal-user", hostileName, "--state", dir},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hostileJournal is a valid journal of which every text is hostile.
func hostileJournal(t *testing.T) []byte {
	t.Helper()
	var log journal.Log
	var out bytes.Buffer
	add := func(kind string, body any) {
		text, err := log.Append(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), kind, body)
		must(t, err)
		out.Write(text)
	}
	add("begin", change.Begin{Version: 1, Plumb: hostileName, Host: hostileName, User: hostileName})
	add("intent", map[string]any{"step": 0, "act": change.Act{Switch: &change.Switch{On: hostileName, Inspect: change.Inspection{File: "/nowhere"}, After: hostileName,
		Undo: []change.Op{{Argv: []string{"touch", hostileName}}}}}, "made": change.Made{Before: hostileName}})
	add("failed", map[string]any{"intent": 2, "why": hostileName})
	return out.Bytes()
}

const hostileFile = "/nowhere/" + hostileName

// hostileBook gives the directory of a book of which every text is hostile.
func hostileBook(t *testing.T) string {
	t.Helper()
	d, dir := hosttest.LiveDoer(t), t.TempDir()
	b, err := inventory.Books{Do: d, Kinds: inventory.Kinds{"file": {}, hostileName: {}}, Directory: dir}.Open(t.Context(), "run"+strings.ReplaceAll(hostileName, "\n", ""))
	must(t, err)
	life := &inventory.Life{Owner: hostileName, Purpose: hostileName, Since: time.Unix(0, 0)}
	for _, thing := range []inventory.Thing{{Kind: "file", Name: hostileFile, Life: life}, {Kind: hostileName, Name: hostileName}} {
		_, err := b.Make(t.Context(), thing, func(*inventory.Thing) error { return nil })
		must(t, err)
	}
	// Its run is killed: what it wrote is there, and nobody holds it.
	books, err := filepath.Glob(filepath.Join(dir, "*.book"))
	must(t, err)
	text, err := os.ReadFile(books[0])
	must(t, err)
	dead := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dead, "dead.book"), text, 0o600))
	return dead
}

// What Plumb does to its own line on a terminal, and nothing else, goes there
// as it is.
func TestConsole(t *testing.T) {
	var to bytes.Buffer
	c := shell.New(nil, nil, &to).Err
	fmt.Fprintf(c, "plumb: %v\n", errors.New("\x1b[2Jx\ty"))
	shell.Rewrite(c, "1/2 \x1b[31mplace\nplumb: done")
	if got := to.String(); got != "plumb: ?[2Jx y\n\r1/2 ?[31mplace; plumb: done\x1b[K" {
		t.Errorf("%q", got)
	}
}

// hostileTable is a CSV file whose columns and devices have hostile names.
func hostileTable(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "table.csv")
	quoted := `"` + strings.ReplaceAll(hostileName, `"`, `""`) + `"`
	must(t, os.WriteFile(name, []byte("date,percent,device,"+quoted+"\n2026-01-01,3,"+quoted+",1\n2026-03-01,3,"+quoted+",1\n"), 0o600))
	return name
}
