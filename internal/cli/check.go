package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/rule"
	checkview "plumb/internal/view/check"
)

// checkFlags are the flags of check.
type checkFlags struct {
	shell.Source
	choice      check.Choice
	rules       string
	failOn      string
	json        bool
	emit        string
	plan        string
	html        string
	force       bool
	all         bool
	grants      bool
	allowUnsafe bool
}

func (a *app) check() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "report what is out of line on this host, with the evidence",
		Long: `Check reads this host from the kernel to the database, judges it by the rules,
and reports what is out of line, worst first: what can lose data (danger), what
can stop a server (outage), what makes it slow (slow), and what is worth knowing
(note). Each finding shows the facts that decided, where each value was set, and
what to do. What could not be read is listed, never guessed.

--html also writes all of it as one self-contained page, without network or
script, which can be sent to others and printed.

It changes nothing. It needs no configuration: servers are found among the
running processes, and logins in the usual option and password files. Run it as
root to see everything; as another user it says what it could not see. It sends
each server a few dozen short queries, in a session that is set to read-only.

` + exitTable,
		Example: `  plumb check                              this host
  plumb check --only mysql,zfs             only rules that look at these
  plumb check --fail-on danger             for a pipeline: exit 1 on danger
  plumb check --tape db1.tape              a recorded host
  plumb check --tape tapes/                all recorded hosts, one summary
  plumb check --rules ./our-rules          rules of your own beside the built-in ones
  plumb check --emit sysctl                what to write into sysctl.conf
  plumb check --html db1.html              also one page, to send to others`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.runCheck(c.Context(), f) },
	}
	f.Source.Flags(c)
	choiceFlags(c, &f.choice)
	fl := c.Flags()
	fl.StringVar(&f.rules, "rules", "", "also apply the rules in `DIR`; their ids begin with own/ (plumb rules test DIR tests them)")
	fl.StringVar(&f.failOn, "fail-on", "", "exit 1 when a finding is at least as bad as `HARM`: danger, outage, slow or note")
	shell.JSONFlag(c, &f.json, "; for a directory of tapes one document a line")
	fl.StringVar(&f.emit, "emit", "", "print settings instead of findings, in this `FORM`: "+strings.Join(checkview.EmitTargets(), ", "))
	fl.StringVar(&f.plan, "plan", "", "also write the plan, as JSON, to `FILE`, replacing its contents")
	fl.StringVar(&f.html, "html", "", "also write one self-contained page to `FILE`; for a directory of tapes one page for all")
	fl.BoolVar(&f.force, "force", false, "replace an existing file of --html")
	fl.BoolVar(&f.all, "all", false, "show everything: notes in full, every place, every reason")
	fl.BoolVar(&f.grants, "grants", false, "print the minimal privileges that a check needs on each server, and stop")
	fl.BoolVar(&f.allowUnsafe, "allow-unsafe", false, "also propose values that are less durable than those in force")
	c.MarkFlagsMutuallyExclusive("json", "emit")
	shell.Offer(c, map[string]shell.Words{"fail-on": harmWords, "emit": checkview.EmitTargets})
	return c
}

func (a *app) runCheck(ctx context.Context, f checkFlags) error {
	if err := f.validate(); err != nil {
		return err
	}
	if f.grants {
		return a.Print(grants())
	}
	know, err := a.loadKnowledge(f.choice, f.rules)
	if err != nil {
		return err
	}
	know.AllowUnsafe = f.allowUnsafe
	if f.IsDirectory() {
		return a.checkMany(ctx, know, f)
	}
	s, err := a.read(ctx, know.Catalog, f.Source)
	if err != nil {
		return err
	}
	if err := check.There(f.choice.Only, s); err != nil {
		return err
	}
	r := know.Judge(s)
	r.From = f.Tape
	if err := a.show(r, f); err != nil {
		return err
	}
	if f.html != "" {
		if err := a.writeCheckPage(know, r, f); err != nil {
			return err
		}
	}
	return f.verdict(r.Advice.Findings)
}

// show prints a report in the form that flags ask for.
func (a *app) show(r check.Report, f checkFlags) error {
	if f.plan != "" {
		if err := writePlan(f.plan, r.Advice.Plan); err != nil {
			return err
		}
	}
	switch {
	case f.json:
		return a.Document(checkview.Document(r))
	case f.emit != "":
		text, err := checkview.Emit(f.emit, r.Advice.Plan, r.Catalog)
		if err != nil {
			return err
		}
		return a.Print(text)
	}
	return a.Print(checkview.Text(r, checkview.Options{All: f.all, Only: f.choice.Only}, shell.Screen(a.Out)))
}

func pageOptions(know check.Knowledge, f checkFlags) checkview.PageOptions {
	return checkview.PageOptions{Only: f.choice.Only, Explain: know.Explain}
}

// writeCheckPage writes the page of one host, and prints its path.
func (a *app) writeCheckPage(know check.Knowledge, r check.Report, f checkFlags) error {
	html, err := checkview.HTML(r, pageOptions(know, f))
	if err != nil {
		return err
	}
	return a.WritePage(f.html, f.force, html)
}

// validate is a usage error if the flags make no sense.
func (f checkFlags) validate() error {
	harms := harmWords()
	if f.failOn != "" && !slices.Contains(harms, f.failOn) {
		return hint.Usage(fmt.Sprintf("--fail-on %s is not a harm", f.failOn), "use one of "+strings.Join(harms, ", "))
	}
	if f.emit != "" && !slices.Contains(checkview.EmitTargets(), f.emit) {
		return hint.Usage(fmt.Sprintf("--emit %s is not known", f.emit), "use one of "+strings.Join(checkview.EmitTargets(), ", "))
	}
	if f.plan != "" && f.IsDirectory() {
		return hint.Usage("--plan works on one host, but --tape names a directory", "give one tape")
	}
	if err := shell.RoomFor("--html", f.html, f.force); err != nil {
		return err
	}
	return f.Source.Validate()
}

// verdict turns findings into the exit code that --fail-on asks for.
func (f checkFlags) verdict(fs []advise.Finding) error {
	for _, found := range fs {
		if f.failOn != "" && advise.AtLeast(found.Rule.Harm, rule.Harm(f.failOn)) {
			return shell.ErrFound
		}
	}
	return nil
}
