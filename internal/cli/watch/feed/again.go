package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/host/again"
	"plumb/internal/rule"
	"plumb/internal/sample"
	"plumb/internal/stack"
)

// Reading and judging the whole host takes more memory than everything else
// watch does, but only for some seconds every ten minutes. So other processes do
// it, and end: the hidden commands plumb look and plumb judge.

// Look and Judge are the names of those commands.
const (
	Look  = "look"
	Judge = "judge"
)

// looked is the output of plumb look.
type looked struct {
	Stack *stack.Stack `json:"stack"`
	Asked []string     `json:"asked"` // the words of each query that servers were asked
}

// Again runs plumb look and plumb judge, one of each at a time.
type Again struct{ looker, judger again.Program }

const (
	mostAnswer = 64 << 20
	startTime  = 15 * time.Second // for a process to start, and to end after its own deadline
	judgeTime  = time.Minute
)

// AnswerLook is plumb look: it reads this host, and writes what it saw as JSON.
func AnswerLook(ctx context.Context, s *shell.Shell, a Adapters, src shell.Source) error {
	ctx, cancel := again.WhileWanted(ctx, s.In)
	defer cancel()
	live, g, err := src.Live(a.Dialers)
	if err != nil {
		return err
	}
	defer live.Close()
	look, err := Looker(s, a, g, src.Timeout)
	if err != nil {
		return err
	}
	own := sample.NewOwn(live, a.Dialers(g))
	seen, err := look(ctx, own)
	if err != nil {
		return err
	}
	return json.NewEncoder(s.Out).Encode(looked{seen, own.Asked()})
}

// look runs plumb look. The queries of that process count as our own.
func (a *Again) look(ctx context.Context, own *sample.Own, src shell.Source) (*stack.Stack, error) {
	c := again.Call{Args: []string{Look, "--timeout", src.Timeout.String()}, Limit: src.Timeout + startTime, Most: mostAnswer}
	if name := shell.OrEnvironment(src.DSN); name != "" { // never on a command line
		c.Args, c.First = append(c.Args, "--dsn", "-"), []byte(name+"\n")
	}
	text, err := a.looker.Run(ctx, c)
	if ctx.Err() != nil {
		return nil, errors.New("read this host: interrupted")
	}
	if err != nil {
		return nil, err
	}
	var got looked
	if err := json.Unmarshal(text, &got); err != nil || got.Stack == nil {
		return nil, fmt.Errorf("read what plumb %s answers: %w", Look, err)
	}
	own.Learn(got.Asked)
	return got.Stack, nil
}

// found is a finding in the output of plumb judge: the part that metrics need.
type found struct {
	Rule   string        `json:"rule"`
	Harm   rule.Harm     `json:"harm"`
	Things [][]stack.Ref `json:"things"` // of each case
}

// AnswerJudge is plumb judge: it reads a host from one line of input, and writes what is out of line on it.
func AnswerJudge(ctx context.Context, s *shell.Shell) error {
	var seen stack.Stack
	if err := json.NewDecoder(s.In).Decode(&seen); err != nil {
		return fmt.Errorf("read the host that is to be judged: %w", err)
	}
	_, cancel := again.WhileWanted(ctx, s.In)
	defer cancel()
	findings, err := judgeHere(s, &seen)
	if err != nil {
		return err
	}
	all := []found{}
	for _, f := range findings {
		one := found{Rule: f.Rule.ID, Harm: f.Rule.Harm}
		for _, c := range f.Cases {
			one.Things = append(one.Things, c.Things)
		}
		all = append(all, one)
	}
	return json.NewEncoder(s.Out).Encode(all)
}

func judgeHere(s *shell.Shell, seen *stack.Stack) ([]advise.Finding, error) {
	know, err := check.Load(check.Choice{}, nil, s.Warn)
	if err != nil {
		return nil, err
	}
	return know.Judge(seen).Advice.Findings, nil
}

// Findings returns what check finds on a host: the rule, and the things of each case.
func (a Adapters) Findings(ctx context.Context, s *shell.Shell, seen *stack.Stack) ([]advise.Finding, error) {
	if a.Again == nil {
		return judgeHere(s, seen)
	}
	return a.Again.judge(ctx, seen)
}

// judge runs plumb judge.
func (a *Again) judge(ctx context.Context, seen *stack.Stack) ([]advise.Finding, error) {
	text, err := json.Marshal(seen)
	if err != nil {
		return nil, err
	}
	if text, err = a.judger.Run(ctx, again.Call{Args: []string{Judge}, First: append(text, '\n'), Limit: judgeTime, Most: mostAnswer}); err != nil {
		return nil, err
	}
	var all []found
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read what plumb %s answers: %w", Judge, err)
	}
	var findings []advise.Finding
	for _, f := range all {
		one := advise.Finding{Rule: &rule.Rule{ID: f.Rule, Harm: f.Harm}}
		for _, things := range f.Things {
			one.Cases = append(one.Cases, advise.Case{Things: things})
		}
		findings = append(findings, one)
	}
	return findings, nil
}
