package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	inventoryview "plumb/internal/view/inventory"
)

// inventoryFlags are the flags of inventory and of what is below it.
type inventoryFlags struct {
	labPlace
	json, yes, dryRun bool
	id, purpose       string
}

const inventoryExits = `Exit codes:
  0  done
  2  the command line is wrong
  3  not done: refused, or the inventory could not be read`

func (a *app) inventory() *cobra.Command {
	var f inventoryFlags
	c := &cobra.Command{
		Use:   "inventory",
		Short: "list what Plumb made on this host, and remove it",
		Long: `Inventory lists what Plumb made on this host and is still there: what you asked to
keep, what killed labs left behind, and what running labs use. Something that was
there before is added to the list with adopt.

Nothing is removed unless it is proven, immediately before, to be the thing that
was recorded: another one of the same name is left alone. Settings that plumb fix
changed are not listed here but in plumb history.

` + shell.ReadExits,
		Example: `  plumb inventory
  plumb inventory adopt dataset tank/db-before --purpose "the data of before the upgrade"
  plumb inventory remove dataset tank/db-before --dry-run
  plumb inventory forget dataset tank/db-before`,
		Args: a.NoSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.OnBooks(func(books inventory.Books) error {
				f.Note(&a.Shell)
				left, unread := books.List(c.Context())
				return errors.Join(a.Answer(f.json, inventoryview.Document(books.Directory, left, unread), inventoryview.Text(books.Directory, left, unread, shell.Screen(a.Out))), unread)
			})
		},
	}
	f.StateFlag(c)
	shell.JSONFlag(c, &f.json, "")
	c.AddCommand(a.inventoryAdopt(), a.inventoryForget(), a.inventoryRemove())
	return c
}

func (a *app) inventoryAdopt() *cobra.Command {
	var f inventoryFlags
	c := &cobra.Command{
		Use:   "adopt KIND NAME",
		Short: "add something to the list, to be kept",
		Long: `Adopt puts a ` + hint.OneOf(adoptable()) + ` on the list: then no sweep removes
it, and plumb inventory remove can. What a killed lab left is recognised by what was
recorded. For anything else, --id says which one you mean, by the guid of a dataset
or pool or the inode of a file. A directory is adopted only if a lab marked it,
because it is removed with everything in it.

` + inventoryExits,
		Example: `  plumb inventory adopt tree /var/tmp/plumb-lab-1 --purpose "to look at the data"
  plumb inventory adopt dataset tank/copy --id "$(zfs get -H -o value guid tank/copy)"`,
	}
	fl := c.Flags()
	fl.StringVar(&f.id, "id", "", "the `NUMBER` that identifies the thing: a guid or an inode")
	fl.StringVar(&f.purpose, "purpose", "", "`TEXT` for the list: what it is kept for")
	return onThing(c, &f, adoptable, func(ctx context.Context, books inventory.Books, t inventory.Thing) error {
		t.Proof = map[string]string{kinds.Proof(t.Kind): f.id}
		t.Life = &inventory.Life{Owner: "inventory adopt", Purpose: f.purpose, Since: time.Now().UTC()}
		if err := books.Adopt(ctx, t); err != nil {
			return err
		}
		return a.said(t, "is in the inventory now.")
	})
}

func (a *app) inventoryForget() *cobra.Command {
	var f inventoryFlags
	c := &cobra.Command{
		Use:   "forget KIND NAME",
		Short: "take something off the list, and leave it where it is",
		Long: `Forget takes a thing off the list and leaves the thing itself. Plumb can no longer
remove it then, and what a lab set for the duration of its run stays. It asks first.

` + inventoryExits,
		Example: "  plumb inventory forget dataset tank/db-before",
	}
	shell.YesFlag(c, &f.yes)
	return onThing(c, &f, allKinds, func(ctx context.Context, books inventory.Books, t inventory.Thing) error {
		t, err := books.Find(ctx, t.Kind, t.Name)
		if err != nil {
			return err
		}
		if err := a.Print(inventoryview.Forgetting(t, shell.Screen(a.Out))); err != nil {
			return err
		}
		if err := a.Ask("Forget it?", f.yes); err != nil {
			return err
		}
		if err := books.Forget(ctx, t.Kind, t.Name); err != nil {
			return err
		}
		return a.said(t, "is forgotten, and left where it is.")
	})
}

func (a *app) inventoryRemove() *cobra.Command {
	var f inventoryFlags
	c := &cobra.Command{
		Use:   "remove KIND NAME",
		Short: "remove one thing from the host and from the list",
		Long: `Remove shows the thing and what it will do, asks, checks the proof again, and
removes it. It removes nothing that a lab still uses, and nothing that contains
something to be kept.

` + inventoryExits,
		Example: `  plumb inventory remove dataset tank/db-before --dry-run
  plumb inventory remove dataset tank/db-before`,
	}
	shell.YesFlag(c, &f.yes)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and do nothing")
	return onThing(c, &f, allKinds, func(ctx context.Context, books inventory.Books, t inventory.Thing) error {
		t, err := books.Find(ctx, t.Kind, t.Name)
		if err != nil {
			return err
		}
		first, err := books.TryRemove(ctx, t.Kind, t.Name)
		if err != nil {
			return err
		}
		if err := a.Print(inventoryview.Removal(t, first, shell.Screen(a.Out))); err != nil || f.dryRun {
			return err
		}
		if err := a.Ask("Remove it?", f.yes); err != nil {
			return err
		}
		if err := books.RemoveOne(ctx, t.Kind, t.Name); err != nil {
			return err
		}
		return a.said(t, "is removed.")
	})
}

// said prints what happened to a thing.
func (a *app) said(t inventory.Thing, what string) error {
	_, err := fmt.Fprintf(a.Out, "%s %s %s\n", shell.OneLine(t.Kind), shell.OneLine(t.Name), what)
	return err
}

func allKinds() []string { return slices.Sorted(maps.Keys(kinds.All())) }

func adoptable() []string {
	return slices.DeleteFunc(allKinds(), func(kind string) bool { return kinds.Proof(kind) == "" })
}

// onThing completes a command whose argument is one thing.
func onThing(c *cobra.Command, f *inventoryFlags, of shell.Words, do func(context.Context, inventory.Books, inventory.Thing) error) *cobra.Command {
	f.StateFlag(c)
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) != 2 || strings.TrimSpace(args[1]) == "" {
			return hint.Usage(c.CommandPath()+" needs a KIND and a NAME", "plumb inventory lists both")
		}
		if known := of(); !slices.Contains(known, args[0]) {
			return hint.Usage(fmt.Sprintf("%s takes no things of the kind %q", c.CommandPath(), args[0]), "use "+hint.OneOf(known))
		}
		return nil
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return of.Complete(c, args, typed)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return f.OnBooks(func(books inventory.Books) error {
			return do(c.Context(), books, inventory.Thing{Kind: args[0], Name: args[1]})
		})
	}
	return c
}
