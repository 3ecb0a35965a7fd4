package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/rule"
	"plumb/internal/view"
	"plumb/knowledge"
)

func (a *app) rules() *cobra.Command {
	var f choice
	var asJSON bool
	c := &cobra.Command{
		Use:                        "rules",
		SuggestionsMinimumDistance: 2,
		Short:                      "list the rules, or test rules of your own",
		Long: `Rules lists the rules that check asks, with the harm each one is about.

` + exitTable,
		Example: `  plumb rules
  plumb rules --only zfs
  plumb rules --rule 'cross/*'
  plumb rules test ./my-rules`,
		Args: a.noSuchCommand,
		RunE: func(*cobra.Command, []string) error { return a.runRules(f, asJSON) },
	}
	f.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON v1")
	c.AddCommand(a.rulesTest())
	return c
}

func (a *app) runRules(f choice, asJSON bool) error {
	cat, err := a.loadCatalog()
	if err != nil {
		return err
	}
	if err := f.validate(ruleIDs(), cat); err != nil {
		return err
	}
	base, err := rule.Load(knowledge.FS, cat)
	if base == nil {
		return fmt.Errorf("read the built-in rules: %w", err)
	}
	list := slices.DeleteFunc(base.Rules(), func(r *rule.Rule) bool { return !f.lists(r) })
	if !asJSON {
		_, err = fmt.Fprint(a.out, view.Rules(list, screen(a.out)))
		return err
	}
	b, err := view.JSON(view.RulesDocument(list, programVersion()))
	if err != nil {
		return err
	}
	_, err = a.out.Write(b)
	return err
}

func (a *app) rulesTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test DIR",
		Short: "check the rules of a directory: spelling, types, examples",
		Long: `Test reads every rule of a directory and below, as knowledge/README.md describes
them, and judges the examples in each. Every mistake is shown with file, line and
column.

` + exitTable,
		Example: "  plumb rules test ./my-rules",
		Args:    oneArg("directory"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.runRulesTest(args[0]) },
	}
}

func (a *app) runRulesTest(dir string) error {
	const hint = "a rule is a file such as DIR/mysql/my-rule.yaml"
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return withHint(fmt.Errorf("test rules in %s: no such directory", dir), hint)
	case err != nil:
		return fmt.Errorf("test rules in %s: %w", dir, cause(err))
	case !info.IsDir():
		return withHint(fmt.Errorf("test rules in %s: not a directory", dir), hint)
	}
	cat, err := a.loadCatalog()
	if err != nil {
		return err
	}
	tests, err := rule.Test(os.DirFS(dir), cat)
	if err != nil {
		return fmt.Errorf("test rules in %s: %w", dir, err)
	}
	if len(tests) == 0 {
		return withHint(fmt.Errorf("test rules in %s: there are none", dir), hint)
	}
	text, wrong := view.RuleTests(tests, screen(a.out))
	if _, err := fmt.Fprint(a.out, text); err != nil {
		return err
	}
	if wrong > 0 {
		return errFound
	}
	return nil
}
