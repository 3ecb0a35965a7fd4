package feed

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/sample"
	"plumb/internal/stack"
)

// As plumb look and as plumb judge, this test's binary does what the environment says.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == Look || os.Args[1] == Judge) {
		os.Exit(runAgain(os.Args[1:]))
	}
	os.Exit(m.Run())
}

const doing = "PLUMB_TEST_LOOK"

func runAgain(args []string) int {
	switch os.Getenv(doing) {
	case "dies":
		fmt.Fprintln(os.Stderr, "no memory is left")
		return 3
	case "answers nonsense":
		fmt.Println(`{"stack": 7}`)
		return 0
	case "answers nothing":
		return 0
	case "hangs":
		time.Sleep(time.Hour)
	}
	s, src := shell.New(os.Stdin, os.Stdout, os.Stderr), shell.Source{}
	c := &cobra.Command{Use: "plumb", RunE: func(c *cobra.Command, _ []string) error {
		if args[0] == Judge {
			return AnswerJudge(c.Context(), &s)
		}
		return AnswerLook(c.Context(), &s, smallHost(), src)
	}}
	src.LiveFlags(c)
	c.SetIn(os.Stdin)
	c.SetArgs(args[1:])
	return s.Exit(c.Execute())
}

// smallHost has a probe that tells what it was given, and asks a server that does not answer.
func smallHost() Adapters {
	return Adapters{
		Dialers: func(dsn.Given) map[string]host.Dialer { return nil },
		Phases: func(_ *catalog.Catalog, g dsn.Given) [][]observe.Probe {
			return [][]observe.Probe{{smallProbe{g.Engine}}}
		},
	}
}

type smallProbe struct{ given string }

func (smallProbe) Name() string       { return "small" }
func (smallProbe) Cost() observe.Cost { return observe.Cost{} }

func (p smallProbe) Collect(ctx context.Context, h host.Reader, _ *stack.Stack) (obs stack.Observation, err error) {
	t := obs.New("host", "here")
	t.Set("cores", stack.Int(2), "/proc/cpuinfo")
	t.Set("hostname", stack.Text(p.given), "its data source name")
	_, err = h.Query(ctx, host.Target{Engine: "mysql", Name: "3306"}, "SELECT small FROM questions WHERE id = 7")
	obs.Gap(t.Ref, fmt.Sprint(err), "", "*")
	return obs, nil
}

func asParent(t *testing.T, does string, src shell.Source) (*stack.Stack, *sample.Own, error) {
	t.Helper()
	t.Setenv(doing, does)
	live := host.NewLive(host.LiveOptions{})
	t.Cleanup(func() { live.Close() })
	own := sample.NewOwn(live, nil)
	s, err := new(Again).look(t.Context(), own, src)
	return s, own, err
}

// What is read in a process of its own is what is read here, and what it asked of servers is known as ours.
func TestLookInAProcessOfItsOwn(t *testing.T) {
	src := shell.Source{DSN: "mysql://u:secret@127.0.0.1:1/", Timeout: 10 * time.Second}
	got, own, err := asParent(t, "", src)
	if err != nil {
		t.Fatal(err)
	}
	s := shell.New(nil, io.Discard, io.Discard)
	look, err := Looker(&s, smallHost(), dsn.Given{Engine: "mysql"}, src.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	want, err := look(t.Context(), live)
	if err != nil {
		t.Fatal(err)
	}
	got.TakenAt = want.TakenAt
	if d := cmp.Diff(want, got, cmp.AllowUnexported(stack.Value{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("it reads differently:\n%s", d)
	}
	if !own.Has("SELECT small FROM questions WHERE id = ?") || own.Has("SELECT large FROM questions WHERE id = ?") {
		t.Error("what it asked is not known as ours, or more than that is")
	}
}

// One that dies, hangs or says nonsense is an error that names it, in time; no password is in it.
func TestLookThatFails(t *testing.T) {
	for does, want := range map[string]string{"dies": "no memory is left", "answers nonsense": "plumb look answers", "answers nothing": "cut off", "hangs": "deadline"} {
		t.Run(does, func(t *testing.T) {
			src := shell.Source{DSN: "mysql://u:secret@127.0.0.1:1/", Timeout: 10 * time.Second}
			if does == "hangs" {
				src.Timeout = 500*time.Millisecond - startTime
			}
			got, _, err := asParent(t, does, src)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || got != nil {
				t.Errorf("it gave %v, %v", got, err)
			}
		})
	}
}

// A host is judged elsewhere as it is here.
func TestJudgeInAProcessOfItsOwn(t *testing.T) {
	s := shell.New(nil, io.Discard, io.Discard)
	sick := &stack.Stack{Root: true}
	db := stack.NewThing("mysql", "3306")
	db.Set("sync_binlog", stack.Int(0), "SHOW GLOBAL VARIABLES")
	sick.Add("mysql", stack.Observation{Things: []*stack.Thing{db}})
	here, err := Adapters{}.Findings(t.Context(), &s, sick)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := Adapters{Again: new(Again)}.Findings(t.Context(), &s, sick)
	if err != nil {
		t.Fatal(err)
	}
	if len(here) != len(elsewhere) {
		t.Fatalf("%d findings here, %d elsewhere", len(here), len(elsewhere))
	}
	for i, f := range here {
		g := elsewhere[i]
		same := f.Rule.ID == g.Rule.ID && f.Rule.Harm == g.Rule.Harm && len(f.Cases) == len(g.Cases)
		for j := range f.Cases {
			same = same && slices.Equal(f.Cases[j].Things, g.Cases[j].Things)
		}
		if !same {
			t.Errorf("finding %d is %s here and %s elsewhere", i, f.Rule.ID, g.Rule.ID)
		}
	}
	t.Logf("%d findings", len(here))
}
