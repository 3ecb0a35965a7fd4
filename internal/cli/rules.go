package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/coverage"
	"plumb/internal/hint"
	"plumb/internal/rule"
	explainview "plumb/internal/view/explain"
	"plumb/knowledge"
)

func (a *app) rules() *cobra.Command {
	var o rulesOptions
	c := &cobra.Command{
		Use:   "rules",
		Short: "list the rules, or test rules of your own",
		Long: `Rules lists the rules that check applies, with the harm each one is about.

With --untested it lists those that have not yet been tested on a real host with
the versions they are for, and what such a host would need. What these rules say
rests only on their sources and on examples.

` + shell.ReadExits,
		Example: `  plumb rules
  plumb rules --only zfs
  plumb rules --rule 'cross/*'
  plumb rules --untested
  plumb rules test ./my-rules`,
		Args: a.NoSuchCommand,
		RunE: func(*cobra.Command, []string) error { return a.runRules(o) },
	}
	choiceFlags(c, &o.choice)
	c.Flags().BoolVar(&o.unmet, "untested", false, "only rules not yet tested on a real host with the versions they are for")
	shell.JSONFlag(c, &o.json, "")
	c.AddCommand(a.rulesTest())
	return c
}

// rulesOptions are the flags of plumb rules.
type rulesOptions struct {
	choice check.Choice
	unmet  bool
	json   bool
}

func (a *app) runRules(o rulesOptions) error {
	cat, err := a.loadCatalog()
	if err != nil {
		return err
	}
	if err := o.choice.Validate(check.RuleIDs(), cat); err != nil {
		return err
	}
	base, err := rule.Load(knowledge.FS, cat)
	if base == nil {
		return fmt.Errorf("read the built-in rules: %w", err)
	}
	list := slices.DeleteFunc(base.Rules(), func(r *rule.Rule) bool { return !o.choice.Lists(r) })
	if !o.json && !o.unmet { // the plain list does not show which hosts rules have met
		return a.Print(explainview.Rules(list, shell.Screen(a.Out)))
	}
	records, err := coverage.Read(knowledge.FS)
	if err != nil {
		return err
	}
	return a.showMet(o, list, records)
}

// showMet prints the rules with the hosts they have met, or would have to meet.
func (a *app) showMet(o rulesOptions, list []*rule.Rule, records coverage.Records) error {
	if !o.json {
		return a.Print(explainview.Untested(list, records.Standings(list), shell.Screen(a.Out)))
	}
	if o.unmet {
		list = slices.DeleteFunc(list, func(r *rule.Rule) bool { return len(records[r.ID].Met) > 0 })
	}
	return a.Document(explainview.RulesDocument(list, records.Standings(list), shell.Version()))
}

func (a *app) rulesTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test DIR",
		Short: "test the rules of a directory: spelling, types, examples",
		Long: `Test reads every rule in a directory and below, in the form that knowledge/README.md
describes, and evaluates the examples in each. Every mistake is shown with file,
line and column. plumb check --rules DIR applies them beside the built-in ones.

Exit codes:
  0  all rules are right
  1  a rule has a mistake
  2  the command line is wrong
  3  the rules could not be read`,
		Example: "  plumb rules test ./my-rules",
		Args:    shell.OneArg("directory"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.runRulesTest(args[0]) },
	}
}

func (a *app) runRulesTest(dir string) error {
	files, err := rulesIn("test rules", dir)
	if err != nil {
		return err
	}
	cat, err := a.loadCatalog()
	if err != nil {
		return err
	}
	tests, err := rule.Test(files, cat)
	if err != nil {
		return fmt.Errorf("test rules in %s: %w", dir, err)
	}
	if len(tests) == 0 {
		return hint.With(fmt.Errorf("test rules in %s: there are none", dir), "a rule is a file such as DIR/mysql/my-rule.yaml")
	}
	text, wrong := explainview.RuleTests(tests, shell.Screen(a.Out))
	if err := a.Print(text); err != nil {
		return err
	}
	if wrong > 0 {
		return shell.ErrFound
	}
	return nil
}
