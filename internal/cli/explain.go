package cli

import (
	"context"
	"fmt"
	"path"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/explain"
	"plumb/internal/rule"
	explainview "plumb/internal/view/explain"
	"plumb/internal/watch/verdict"
	"plumb/knowledge"
)

func (a *app) explain() *cobra.Command {
	own := ""
	c := &cobra.Command{
		Use:   "explain RULE|SETTING|VERDICT",
		Short: "explain a rule, a setting or a verdict, with its sources",
		Long: `Explain shows what is known about a rule: the mechanism, when it fires, what to
do, for which versions it holds, what the old advice was and whether it still
holds, on which servers and filesystems the rule was tested, what experiments
showed (also those on this machine, from a ledger in ./plumb-lab), and the
sources. For a setting or a fact it shows what it is, its default, when a change
takes effect, how durable its values are, and the rules that use it. For a
verdict of plumb watch it shows when it is raised, what speaks against it, and
what causes it.

A name may be shortened while it is unambiguous: explain sync-binlog-off, explain
sync_binlog, explain vm.swappiness, explain mysql#sync_binlog.

` + shell.ReadExits,
		Example: `  plumb explain cross/zfs-recordsize-innodb
  plumb explain innodb_doublewrite
  plumb explain device/saturated
  plumb explain own/mysql/binlog-format --rules ./our-rules`,
		Args:              shell.OneArg("rule, setting or verdict"),
		RunE:              func(c *cobra.Command, args []string) error { return a.runExplain(c.Context(), args[0], own) },
		ValidArgsFunction: shell.Words(explainable).Complete,
	}
	c.Flags().StringVar(&own, "rules", "", "also explain the rules in `DIR`, whose ids begin with own/")
	return c
}

// runExplain writes the pages of everything that has a name. own is a directory of a
// user's rules, or "".
func (a *app) runExplain(ctx context.Context, name, own string) error {
	if own != "" {
		return a.explainOwn(ctx, name, own)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a page takes a few megabytes, and is done before a collection would pay off
	_, fact, qualified := strings.Cut(name, "#")
	if !qualified {
		fact = name
	}
	cat, err := a.catalogWith(fact)
	if err != nil {
		return err
	}
	ids := check.RuleIDs()
	var pages []string
	for _, id := range ids {
		if id == name || path.Base(id) == name {
			r, err := rule.Read(knowledge.FS, cat, id)
			if err != nil {
				return fmt.Errorf("explain: %w", err)
			}
			pages = append(pages, explainview.Rule(r, explain.ProofOf(ctx, r, defaultLedger, a.Warn), shell.Screen(a.Out)))
		}
	}
	for _, id := range verdict.IDs(knowledge.FS) {
		if id == name || path.Base(id) == name {
			l, err := verdict.Read(knowledge.FS, id)
			if err != nil {
				return fmt.Errorf("explain: %w", err)
			}
			pages = append(pages, explainview.Limit(l, shell.Screen(a.Out)))
		}
	}
	for _, f := range explain.FactsNamed(cat, name) {
		pages = append(pages, explainview.Fact(f, cat.Kinds[f.Kind], explain.RulesUsing(f, ids), shell.Screen(a.Out)))
	}
	if len(pages) == 0 {
		if cat, err = a.loadCatalog(); err != nil {
			return err
		}
		return explain.NotKnown(cat, ids, name)
	}
	return a.Print(strings.Join(pages, "\n"))
}

// explainOwn writes the page of a rule of a user's directory, or what is built
// in and has this name.
func (a *app) explainOwn(ctx context.Context, name, dir string) error {
	cat, err := a.loadCatalog()
	if err != nil {
		return err
	}
	own, err := ownRules(dir)
	if err != nil {
		return err
	}
	base, err := own.Read(cat)
	if err != nil {
		return err
	}
	for _, r := range base.Rules() {
		if r.ID == name || path.Base(r.ID) == name {
			return a.Print(explainview.Rule(r, explain.Proof{}, shell.Screen(a.Out)))
		}
	}
	return a.runExplain(ctx, name, "")
}
