package host

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

	"plumb/internal/tape"
)

// calls makes every kind of call, good and bad ones, and prints the answers.
func calls(t *testing.T, r Reader, dir string) string {
	t.Helper()
	ctx := context.Background()
	db := Target{Engine: "fake", Name: "fake:1"}
	var b strings.Builder
	say := func(call string, answer any, err error) {
		fmt.Fprintf(&b, "%s: %+v", call, answer)
		if err != nil {
			fmt.Fprintf(&b, " error %q %s", err, kindOf(err))
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
	for _, argv := range [][]string{{"uname", "-s"}, {"rm", "-rf", "x"}, {"tuned-adm", "active"}, {"sleep", "60"}, {"yes"}, {"sh", "-c", "echo out; echo Permission denied >&2; exit 2"}} {
		out, err := r.Output(ctx, argv...)
		say(strings.Join(argv, " "), fmt.Sprintf("%.20q", out), err)
	}
	for _, query := range []string{"SELECT 1", "SELECT many", "SELECT slow", "SELECT denied", "DROP TABLE t", "SELECT report_password"} {
		rows, err := r.Query(ctx, db, query)
		say(query, show(rows), err)
	}
	_, err = r.Query(ctx, Target{Engine: "fake", Name: "fake:down"}, "SELECT 1")
	say("down", "", err)
	_, err = r.Query(ctx, Target{Engine: "none", Name: "none"}, "SELECT 1")
	say("no driver", "", err)
	return b.String()
}

func show(rows Rows) string {
	data, _ := json.Marshal(rows)
	return string(data)
}

func fakeMachine(t *testing.T) (*Live, string) {
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
	l := newTestLive(t, LiveOptions{
		Dialers: map[string]Dialer{"fake": &fakeDialer{}}, FileBytes: 1000, OutputBytes: 100,
		CommandTime: 200 * time.Millisecond, Query: QueryLimits{Rows: 3, Time: 100 * time.Millisecond},
	})
	l.commands = append(l.commands, parseCommands("sleep ?\nyes\nsh -c ...")...)
	return l, dir
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
	replay, err := NewTaped(read)
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
		{Op: opFile, Of: tape.Texts("/a"), Text: text("1")},
		{Op: opFile, Of: tape.Texts("/a"), Text: text("2")},
		{Op: opFile, Of: tape.Texts("/b"), Error: "something new", Says: "broken"},
		{Op: opStat, Of: tape.Texts("/c"), Value: json.RawMessage(`"x"`)},
	}
	p, err := NewTaped(&tape.Tape{Entries: entries})
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
	if _, err := p.ReadFile(ctx, "/d"); !errors.Is(err, ErrNotOnTape) {
		t.Errorf("not recorded: %v", err)
	}
}

func TestRecorderDoesNotDependOnTheOrderOfCalls(t *testing.T) {
	live, dir := fakeMachine(t)
	var tapes [2]bytes.Buffer
	for i := range tapes {
		rec := NewRecorder(NewCached(live))
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

func TestOnceAsksOnce(t *testing.T) {
	live, dir := fakeMachine(t)
	o := NewCached(live)
	ctx := context.Background()
	read := func(ctx context.Context) string {
		data, err := o.ReadFile(ctx, dir+"/changing")
		return fmt.Sprintf("%s %s", data, kindOfOrNone(err))
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if got := read(canceled); got != " canceled" {
		t.Errorf("canceled: %s", got)
	}
	write(t, dir+"/changing", "1")
	if got := read(ctx); got != "1 " {
		t.Errorf("after one that gave up: %s", got)
	}
	write(t, dir+"/changing", "2")
	if got := read(ctx); got != "1 " {
		t.Errorf("again: %s", got)
	}
	if o = NewCached(live); read(ctx) != "2 " {
		t.Errorf("a new one: %s", read(ctx))
	}
}

func kindOfOrNone(err error) string {
	if err == nil {
		return ""
	}
	return kindOf(err)
}

func TestErrorsKeepTheirKind(t *testing.T) {
	for _, k := range errorKinds() {
		err := answered(fmt.Errorf("read x: %w", k.kind))
		if kindOf(err) != k.name || !errors.Is(errorOf(k.name, "y"), k.kind) {
			t.Errorf("%s: %s", k.name, kindOf(err))
		}
	}
	if err := answered(&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
}
