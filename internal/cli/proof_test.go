package cli

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/host/taped"
	checkview "plumb/internal/view/check"
	"plumb/internal/view/page"
	stackview "plumb/internal/view/stack"
	"plumb/test/sandbox"
)

// servers starts a MariaDB and a PostgreSQL for a test, where they are
// installed; without them the test goes on with this host as it is.
func servers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		return
	}
	b := sandbox.ForTest(t, "")
	_, mine := b.MySQL(sandbox.MySQLOptions{Settings: "log_bin\n"})
	_, theirs := b.Postgres(sandbox.PostgresOptions{Port: sandbox.FreePort(t)})
	for _, err := range []error{mine, theirs} {
		if missing := (sandbox.Missing{}); errors.As(err, &missing) {
			t.Logf("goes on without: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Check, stack and capture are one look, with or without a recorder. Probes
// get a reader that could change the machine, and fails and remembers when it
// is asked to. Explain and rules get no reader at all.
func TestReadingAsksForNoChange(t *testing.T) {
	servers(t)
	cat := hosttest.Catalog(t)
	live := host.NewLive(host.LiveOptions{Dialers: dialers(dsn.Given{})})
	defer live.Close()
	for name, wrap := range map[string]func(host.Reader) host.Reader{
		"check and stack": func(r host.Reader) host.Reader { return r },
		"capture":         func(r host.Reader) host.Reader { return taped.NewRecorder(r) },
	} {
		t.Run(name, func(t *testing.T) {
			refusing := hosttest.NewRefusing(live)
			s, err := lookInTime(context.Background(), wrap(refusing), cat, dsn.Given{}, check.DefaultTimeout)
			if err != nil {
				t.Fatal(err)
			}
			if asked := refusing.Attempts(); len(asked) > 0 {
				t.Errorf("it asked to %v", asked)
			}
			if len(s.Things) < 3 {
				t.Errorf("it saw only %d things: this proves nothing", len(s.Things))
			}
		})
	}
	if err := live.Close(); err != nil {
		t.Error(err)
	}
}

// No reader a command makes can change anything, so that a probe which asks
// for a Doer gets none.
func TestReadersCannotChange(t *testing.T) {
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	for name, r := range map[string]host.Reader{"live": live, "once": host.NewCached(live), "recorder": taped.NewRecorder(live), "taped": &taped.Reader{}} {
		if _, can := r.(host.Doer); can {
			t.Errorf("the %s reader can change the machine", name)
		}
	}
}

// The same answers give the same findings, live and from the tape.
func TestReplayEqualsLive(t *testing.T) {
	servers(t)
	k, err := (&app{Shell: shell.Shell{Err: new(bytes.Buffer)}}).loadKnowledge(check.Choice{}, "")
	must(t, err)
	live := host.NewLive(host.LiveOptions{Dialers: dialers(dsn.Given{}), Plumb: "test"})
	defer live.Close()
	recorder := taped.NewRecorder(live)
	document := func(r host.Reader) string {
		s, err := lookInTime(context.Background(), host.NewCached(r), k.Catalog, dsn.OnTape(r.About().Given), time.Minute)
		must(t, err)
		text, err := page.JSON(checkview.Document(k.Judge(s)))
		must(t, err)
		seen, err := page.JSON(stackview.Document(s, "test"))
		must(t, err)
		return string(text) + string(seen)
	}
	want := document(recorder)
	tape, err := recorder.Tape()
	must(t, err)
	replay, err := taped.New(tape)
	must(t, err)
	if got := document(replay); got != want {
		t.Errorf("the replay differs from the check it was recorded from:\n%s", firstDifference(want, got))
	}
}

func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-300)
	return "live: …" + a[from:min(len(a), i+300)] + "…\ntape: …" + b[from:min(len(b), i+300)] + "…"
}
