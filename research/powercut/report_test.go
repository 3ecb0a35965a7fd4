package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const goodReport = "mounted yes\nstarted yes\nverify 0\ncheck tpcc ok\ncheck tables skipped\ncheck storage bad\ndone yes\n"

func TestParseReport(t *testing.T) {
	o, err := parseReport([]byte(goodReport))
	ok(t, err)
	if o.failedStart() || !slices.Equal(o.Good, []string{"tpcc"}) || !slices.Equal(o.Bad, []string{"storage"}) || !slices.Equal(o.Skipped, []string{"tables"}) {
		t.Errorf("%+v", o)
	}
	for text, started := range map[string]bool{"mounted no\n": false, "mounted yes\nstarted no\n": false} {
		o, err := parseReport([]byte(text))
		ok(t, err)
		if o.failedStart() == started {
			t.Errorf("%q: %+v", text, o)
		}
	}
	if o, err := parseReport([]byte("mounted yes\nstarted yes\nverify 3\ndone yes")); err != nil || !slices.Equal(o.Bad, []string{"ledger"}) {
		t.Errorf("a ledger that cannot be compared: %+v, %v", o, err)
	}
	for text, want := range map[string]error{
		"": errUnfinished, "mounted yes\nstarted yes\n": errUnfinished, "fail open zfs": errUnfinished, "skip this guest has no mkfs.xfs": errSkipped,
	} {
		if _, err := parseReport([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{strings.Repeat("x", mostReport+1), strings.Repeat("check a ok\n", mostLines+1)} {
		if _, err := parseReport([]byte(text)); err == nil {
			t.Errorf("%d bytes were read", len(text))
		}
	}
}

const goodVerdict = `{"plumb":1,"kind":"load-verify","acknowledged":9,"found":7,"lost":2,"extra":1}`

func TestFound(t *testing.T) {
	dir := t.TempDir()
	if _, err := found(dir); !errors.Is(err, errUnfinished) {
		t.Errorf("without a report: %v", err)
	}
	ok(t, os.WriteFile(filepath.Join(dir, "report"), []byte(goodReport), 0o600))
	if _, err := found(dir); err == nil {
		t.Error("a verdict that is missing was found")
	}
	for text, good := range map[string]bool{goodVerdict: true, "": true, "{}": false, `{"kind":"load-verify"}`: false, "x": false} {
		ok(t, os.WriteFile(filepath.Join(dir, "verify.json"), []byte(text), 0o600))
		o, err := found(dir)
		if (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
		if text == goodVerdict && (o.Acknowledged != 9 || o.Lost != 2 || o.Extra != 1) {
			t.Errorf("%+v", o)
		}
	}
}

func TestKeepsWhatWentWrong(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"server.log": "PANIC", "storage.txt": strings.Repeat("x", mostSaid) + "bad block", "tpcc.txt": "fine", "verify.json": goodVerdict} {
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for report, want := range map[string]string{goodReport: "storage.txt", "mounted yes\nstarted no\n": "server.log"} {
		ok(t, os.WriteFile(filepath.Join(dir, "report"), []byte(report), 0o600))
		o, err := found(dir)
		ok(t, err)
		if text, kept := o.Said[want]; len(o.Said) != 1 || !kept || len(text) > mostSaid || !strings.HasSuffix(text, "bad block") && text != "PANIC" {
			t.Errorf("%q: kept %v", report, o.Said)
		}
	}
}

func FuzzGuestSays(f *testing.F) {
	f.Add([]byte(goodReport))
	f.Add([]byte(goodVerdict))
	f.Add([]byte("ack 17"))
	f.Add([]byte(`{"row":"a","kind":"killed"}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := parseReport(data)
		if err == nil && o.Started && !o.Mounted && !strings.Contains(string(data), "started yes") {
			t.Errorf("%+v", o)
		}
		_ = o.parseVerify(data)
		if n, ok := parseAck(data); ok && n < 1 {
			t.Errorf("%d commits", n)
		}
		_, _ = parseTrials(strings.NewReader(string(data)))
	})
}
