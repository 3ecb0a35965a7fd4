// Package real runs plumb against real servers on real filesystems: for each
// thing it must find, a sick host and its healthy twin.
package real

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/knowledge"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// tools are what the tests share: the binary as a user has it, and the rules.
type tools struct {
	plumb program.Program
	rules *rule.Base
}

var shared tools

func TestMain(m *testing.M) {
	if err := shared.load(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program.Main(m, &shared.plumb)
}

func (s *tools) load() error {
	cat, err := catalog.Load(knowledge.FS)
	if err != nil {
		return err
	}
	s.rules, err = rule.Load(knowledge.FS, cat)
	return err
}

// box gives a box that is taken away at the end of the test.
func box(t *testing.T) *sandbox.Box {
	t.Helper()
	sandbox.NeedLong(t, "starts real servers: run without -short")
	b := sandbox.ForTest(t, "")
	sandbox.NeedMount(t, b.Dir)
	return b
}

// check skips for what the machine does not offer and fails for the rest.
func check(t *testing.T, err error) { t.Helper(); sandbox.Need(t, err) }

// freePort asks the kernel for a port nobody uses.
func freePort(t *testing.T) int { t.Helper(); return sandbox.FreePort(t) }

// look reads this host with the binary, as a user would, and gives what it saw.
func look(t *testing.T, args ...string) *stack.Stack {
	t.Helper()
	cmd := exec.Command(shared.plumb.Path, append([]string{"stack", "--json"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("plumb stack: %v: %s", err, exit.Stderr)
	}
	if len(args) == 0 { // a tape may have been changed
		program.Keep(t, out)
	}
	var doc struct{ Stack *stack.Stack }
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Stack
}

// verdicts gives what a rule says wherever it concerns a server (or the whole
// host when ref is zero).
func verdicts(s *stack.Stack, id string, ref stack.Ref) []rule.Evaluation {
	return slices.DeleteFunc(shared.rules.Judge(s), func(v rule.Evaluation) bool {
		return v.Rule.ID != id || !ref.IsZero() && !binds(v, ref)
	})
}

func binds(v rule.Evaluation, ref stack.Ref) bool {
	return slices.Contains(v.Things, ref)
}

// want demands that a rule was judged for a server and says this everywhere.
func want(t *testing.T, s *stack.Stack, id string, ref stack.Ref, outcome rule.Outcome) {
	t.Helper()
	if shared.rules.Rule(id) == nil {
		t.Fatalf("there is no rule %s", id)
	}
	found := verdicts(s, id, ref)
	if len(found) == 0 {
		t.Errorf("%s was not judged for %s", id, ref)
	}
	for _, v := range found {
		if v.Outcome != outcome {
			t.Errorf("%s is %v for %v, want %v; evidence %v, missing %v", id, v.Outcome, v.Things, outcome, v.Evidence, v.Missing)
		}
	}
}

// refOf finds the thing of a server by its process.
func refOf(t *testing.T, s *stack.Stack, srv *sandbox.Server) stack.Ref {
	t.Helper()
	process := stack.Ref{Kind: "process", Name: fmt.Sprint(srv.PID)}
	for _, db := range s.OfKind(srv.Engine) {
		if slices.Contains(db.Links["process"], process) {
			return db.Ref
		}
	}
	t.Fatalf("plumb did not find %s with pid %d among %v", srv.Engine, srv.PID, s.OfKind(srv.Engine))
	return stack.Ref{}
}
