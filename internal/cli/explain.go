package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/rule"
	explainview "plumb/internal/view/explain"
	"plumb/knowledge"
)

func (a *app) explain() *cobra.Command {
	own := ""
	c := &cobra.Command{
		Use:   "explain RULE|SETTING",
		Short: "explain a rule or a setting: mechanism, versions, sources",
		Long: `Explain shows all there is to know of a rule: the mechanism, when it fires, what
to do, since which version, what the old advice was and whether it still holds, on
which real servers and filesystems the rule was tested, what experiments showed,
those on this machine too (a ledger in ./plumb-lab), and the sources. Of a setting
or a fact it shows what it is, its default, when a change takes effect, how durable
its values are, and the rules that use it.

A name may be short where it is clear: explain sync-binlog-off, explain sync_binlog,
explain vm.swappiness, explain mysql#sync_binlog.

` + readExits,
		Example: `  plumb explain cross/zfs-recordsize-innodb
  plumb explain innodb_doublewrite
  plumb explain own/mysql/binlog-format --rules ./our-rules`,
		Args:              oneArg("rule or setting"),
		RunE:              func(c *cobra.Command, args []string) error { return a.runExplain(c.Context(), args[0], own) },
		ValidArgsFunction: words(explainable).complete,
	}
	c.Flags().StringVar(&own, "rules", "", "also look among the rules in `DIR`, whose ids begin with own/")
	return c
}

// runExplain writes the pages of all that has a name. own is a directory of a
// user's rules, or "".
func (a *app) runExplain(ctx context.Context, name, own string) error {
	if own != "" {
		return a.explainOwn(ctx, name, own)
	}
	debug.SetGCPercent(-1) // a page takes a few megabytes and is there before a collection would pay
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
			pages = append(pages, explainview.Rule(r, a.proof(ctx, r), screen(a.out)))
		}
	}
	for _, f := range factsNamed(cat, name) {
		pages = append(pages, explainview.Fact(f, cat.Kinds[f.Kind], usersOf(f, ids), screen(a.out)))
	}
	if len(pages) == 0 {
		return a.notKnown(ids, name)
	}
	_, err = fmt.Fprint(a.out, strings.Join(pages, "\n"))
	return err
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
			_, err := fmt.Fprint(a.out, explainview.Rule(r, explainview.Proof{}, screen(a.out)))
			return err
		}
	}
	return a.runExplain(ctx, name, "")
}

// notKnown says that nothing has this name, and what comes close.
func (a *app) notKnown(ids []string, name string) error {
	cat, err := a.loadCatalog()
	if err != nil {
		return err
	}
	known := slices.Clone(ids)
	for _, id := range ids {
		known = append(known, path.Base(id))
	}
	for _, k := range cat.Kinds {
		for _, f := range k.Facts {
			known = append(known, cmp.Or(f.Shown, f.Name))
		}
	}
	slices.Sort(known)
	return hint.Usage(fmt.Sprintf("no rule, setting or fact is called %q", name), cmp.Or(hint.Meant(name, known), "plumb rules lists the rules"))
}

// factsNamed finds facts by name, as written or as shown, with or without
// the kind or thing before a #.
func factsNamed(cat *catalog.Catalog, name string) []*catalog.Fact {
	of, name, qualified := strings.Cut(name, "#")
	if !qualified {
		of, name = "", of
	}
	kind, _, _ := strings.Cut(of, ":")
	var out []*catalog.Fact
	for _, k := range cat.Kinds {
		for _, f := range k.Facts {
			if (kind == "" || kind == k.Name) && (f.Name == name || f.Shown == name) {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b *catalog.Fact) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// usersOf finds the rules whose text names a fact. It reads the files as
// text, because compiling all rules takes longer than a person waits for a
// page; a fact of the same name on another kind is found too.
func usersOf(f *catalog.Fact, ids []string) []string {
	var out []string
	for _, id := range ids {
		text, err := fs.ReadFile(knowledge.FS, "rules/"+id+".yaml")
		if err == nil && uses(text, f.Name) {
			out = append(out, id)
		}
	}
	return out
}

// uses reports whether a rule's text names a fact: .name or #name.
func uses(text []byte, name string) bool {
	for {
		i := bytes.Index(text, []byte(name))
		if i < 0 {
			return false
		}
		after := text[i+len(name):]
		if i > 0 && (text[i-1] == '.' || text[i-1] == '#') && (len(after) == 0 || !inName(after[0])) {
			return true
		}
		text = after
	}
}

func inName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
