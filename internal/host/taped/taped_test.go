package taped

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/host"
	"plumb/internal/host/statement"
	"plumb/internal/tape"
)

// calls makes every kind of call, good and bad ones, and prints the answers.
func calls(t *testing.T, r host.Reader, dir string) string {
	t.Helper()
	ctx := context.Background()
	db := host.Target{Engine: "fake", Name: "fake:1"}
	var b strings.Builder
	say := func(call string, answer any, err error) {
		fmt.Fprintf(&b, "%s: %+v", call, answer)
		if err != nil {
			fmt.Fprintf(&b, " error %q %s", err, host.KindOf(err))
		}
		b.WriteByte('\n')
	}
	for _, name := range []string{"my.cnf", "latin1", "empty", "large", "none", "my.cnf/x", "."} {
		data, err := r.ReadFile(ctx, dir+"/"+name)
		say("file "+name, fmt.Sprintf("%q %v", data, data == nil), err)
		st, err := r.Stat(ctx, dir+"/"+name)
		say("stat "+name, st, err)
		fs, err := r.Statfs(ctx, dir+"/"+name)
		fs.FreeBytes, fs.AvailBytes, fs.FreeInodes = 0, 0, 0 // others write meanwhile
		say("statfs "+name, fs, err)
		to, err := r.Readlink(ctx, dir+"/"+name)
		say("link "+name, to, err)
	}
	to, err := r.Readlink(ctx, dir+"/link")
	say("link", to, err)
	for _, pattern := range []string{"*", "none/*", "[", "\xff*"} {
		found, err := r.Glob(ctx, dir+"/"+pattern)
		say("glob "+pattern, fmt.Sprintf("%q %v", found, found == nil), err)
	}
	for _, argv := range [][]string{{"uname", "-s"}, {"rm", "-rf", "x"}, {"tuned-adm", "active"}, {"sleep", "60"}, {"yes"}, {"sh"}} {
		out, err := r.Output(ctx, argv...)
		say(strings.Join(argv, " "), fmt.Sprintf("%.20q", out), err)
	}
	for _, query := range []string{"SELECT 1", "SELECT many", "SELECT slow", "SELECT denied", "DROP TABLE t", "SELECT report_password"} {
		rows, err := r.Query(ctx, db, query)
		say(query, show(rows), err)
	}
	_, err = r.Query(ctx, host.Target{Engine: "fake", Name: "fake:down"}, "SELECT 1")
	say("down", "", err)
	_, err = r.Query(ctx, host.Target{Engine: "none", Name: "none"}, "SELECT 1")
	say("no driver", "", err)
	return b.String()
}

func show(rows host.Rows) string {
	data, _ := json.Marshal(rows)
	return string(data)
}

// fakeDialer opens sessions that answer by the words of the query.
type fakeDialer struct{}

func (fakeDialer) Dial(_ context.Context, t host.Target, _ func(string) ([]byte, error)) (host.Session, error) {
	if strings.HasSuffix(t.Name, "down") {
		return nil, fmt.Errorf("%w: dial a:s3cret@tcp(x)", host.ErrDown)
	}
	return fakeSession{}, nil
}

func (fakeDialer) Reads(query string) bool { return statement.Reads(query) }

type fakeSession struct{}

func (fakeSession) Query(ctx context.Context, query string, _ host.QueryLimits) (host.Rows, error) {
	cell := "1"
	rows := host.Rows{Columns: []string{"name", "value"}, Values: [][]*string{{&cell, nil}}}
	switch {
	case strings.Contains(query, "many"):
		for range 10 {
			rows.Values = append(rows.Values, rows.Values[0])
		}
	case strings.Contains(query, "slow"):
		<-ctx.Done()
		return host.Rows{}, ctx.Err()
	case strings.Contains(query, "denied"):
		return host.Rows{}, fmt.Errorf("%w: no", host.ErrDenied)
	case strings.Contains(query, "password"):
		name, value := "report_password", "s3cret"
		rows.Values = [][]*string{{&name, &value}}
	}
	return rows, nil
}

func (fakeSession) Close() error { return nil }

// machine is this one, with commands that end in ways of which no reading one can be relied on.
type machine struct{ host.Reader }

func (m machine) Output(ctx context.Context, argv ...string) ([]byte, error) {
	switch argv[0] {
	case "sleep":
		return nil, fmt.Errorf("run sleep: %w", context.DeadlineExceeded)
	case "yes":
		return []byte("y\ny\n"), fmt.Errorf("run yes: %w", host.ErrTooLarge)
	case "sh":
		return []byte("out\n"), fmt.Errorf("run sh: %w: Permission denied", host.ErrDenied)
	}
	return m.Reader.Output(ctx, argv...)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func fakeMachine(t *testing.T) (host.Reader, string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir+"/my.cnf", "[client]\npassword=s3cret\n")
	write(t, dir+"/latin1", "gr\xfc\xdfe\x00")
	write(t, dir+"/\xff\xfe", "x")
	write(t, dir+"/empty", "")
	write(t, dir+"/large", strings.Repeat("x", 2000))
	if err := os.Symlink("\xffaway", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	live := host.NewLive(host.LiveOptions{
		Dialers: map[string]host.Dialer{"fake": fakeDialer{}}, FileBytes: 1000, OutputBytes: 100,
		Query: host.QueryLimits{Rows: 3, Time: time.Second},
	})
	t.Cleanup(func() { live.Close() })
	return machine{live}, dir
}

func TestReplayGivesWhatWasRecorded(t *testing.T) {
	live, dir := fakeMachine(t)
	rec := NewRecorder(live)
	want := calls(t, rec, dir)
	recorded, err := rec.Tape()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := tape.Write(&file, recorded); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(file.Bytes(), []byte("s3cret")) {
		t.Errorf("a secret is on the tape:\n%s", file.Bytes())
	}
	read, err := tape.Read(bytes.NewReader(file.Bytes()), "x")
	if err != nil {
		t.Fatal(err)
	}
	replay, err := New(read)
	if err != nil {
		t.Fatal(err)
	}
	if got := calls(t, replay, dir); got != want {
		t.Errorf("replay differs from live (-live +replay):\n%s", cmp.Diff(want, got))
	}
	if replay.About() != rec.About() {
		t.Errorf("about: %+v, want %+v", replay.About(), rec.About())
	}
	if got := calls(t, live, dir); got != want {
		t.Errorf("live differs from recorded (-recorded +live):\n%s", cmp.Diff(want, got))
	}
	for _, kind := range []string{"too_large", "not_exist", "refused", "no_command", "deadline", "denied", "down"} {
		if !strings.Contains(want, " "+kind+"\n") {
			t.Errorf("no call was answered with %s:\n%s", kind, want)
		}
	}
	// A tape recorded from a tape is the same tape.
	again := NewRecorder(replay)
	calls(t, again, dir)
	copied, err := again.Tape()
	if err != nil {
		t.Fatal(err)
	}
	var second bytes.Buffer
	if err := tape.Write(&second, copied); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(file.String(), second.String()); diff != "" {
		t.Errorf("the copy of a tape differs:\n%s", diff)
	}
}

func TestTapedGivesSamplesInOrderAndRepeatsTheLast(t *testing.T) {
	text := func(s string) *tape.Text { t := tape.Text(s); return &t }
	entries := []tape.Entry{
		{Op: host.OpFile, Of: tape.Texts("/a"), Text: text("1")},
		{Op: host.OpFile, Of: tape.Texts("/a"), Text: text("2")},
		{Op: host.OpFile, Of: tape.Texts("/b"), Error: "something new", Says: "broken"},
		{Op: host.OpStat, Of: tape.Texts("/c"), Value: json.RawMessage(`"x"`)},
	}
	p, err := New(&tape.Tape{Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, want := range []string{"1", "2", "2"} {
		if got, err := p.ReadFile(ctx, "/a"); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if _, err := p.ReadFile(ctx, "/b"); err == nil || err.Error() != "broken" {
		t.Errorf("an error of an unknown kind: %v", err)
	}
	if _, err := p.Stat(ctx, "/c"); err == nil || !strings.Contains(err.Error(), "another kind of answer") {
		t.Errorf("a wrong value: %v", err)
	}
	if _, err := p.ReadFile(ctx, "/d"); !errors.Is(err, host.ErrNotOnTape) {
		t.Errorf("not recorded: %v", err)
	}
}

func TestRecorderDoesNotDependOnTheOrderOfCalls(t *testing.T) {
	live, dir := fakeMachine(t)
	var tapes [2]bytes.Buffer
	for i := range tapes {
		rec := NewRecorder(host.NewCached(live))
		rec.about.Taken = time.Time{} // two looks are of two times
		var wg sync.WaitGroup
		for _, name := range []string{"my.cnf", "latin1", "empty", "large", "none", "my.cnf", "large"} {
			wg.Go(func() {
				rec.ReadFile(context.Background(), dir+"/"+name)
				rec.Glob(context.Background(), dir+"/*")
			})
		}
		wg.Wait()
		recorded, err := rec.Tape()
		if err != nil {
			t.Fatal(err)
		}
		if err := tape.Write(&tapes[i], recorded); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(tapes[0].String(), tapes[1].String()); diff != "" {
		t.Error(diff)
	}
}

// answers tells two callers apart.
type answers struct{ host.Reader }

func (answers) About() host.About { return host.About{} }
func (answers) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if len(host.CallFor(ctx, host.OpFile, name).Of) > 1 {
		return nil, fs.ErrPermission
	}
	return []byte("x"), nil
}

// What one may read is no answer for another, neither remembered nor on a
// tape; on an older tape, which does not tell them apart, it is.
func TestAnswersAreForOne(t *testing.T) {
	rec := NewRecorder(answers{})
	once := host.NewCached(rec)
	other := host.For(t.Context(), 7, nil)
	ask := func(r host.Reader, wantOther error) {
		t.Helper()
		if text, err := r.ReadFile(t.Context(), "/f"); err != nil || string(text) != "x" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := r.ReadFile(other, "/f"); !errors.Is(err, wantOther) {
			t.Errorf("for another: %v", err)
		}
	}
	ask(once, fs.ErrPermission)
	recorded, err := rec.Tape()
	if err != nil {
		t.Fatal(err)
	}
	replayed, err := New(recorded)
	if err != nil {
		t.Fatal(err)
	}
	ask(replayed, fs.ErrPermission)
	old := &tape.Tape{About: recorded.About, Entries: recorded.Entries[:1]}
	replayed, err = New(old)
	if err != nil {
		t.Fatal(err)
	}
	ask(replayed, nil)
}

// What keeps or replays answers holds no session and changes nothing, whatever it stands in front of.
func TestReplaysOnlyRead(t *testing.T) {
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	for _, r := range []host.Reader{NewRecorder(host.NewLiveDoer(live)), &Reader{}} {
		_, holds := r.(interface {
			Hold(context.Context, host.Target) (host.Held, error)
		})
		if _, changes := r.(host.Doer); changes || holds {
			t.Errorf("a %T does more than read", r)
		}
	}
}
