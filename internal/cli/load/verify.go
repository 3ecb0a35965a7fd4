package load

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/load/durability"
	view "plumb/internal/view/load"
)

func (v *verbs) verify() *cobra.Command {
	var l login
	var book string
	var asJSON bool
	var notes []string
	c := &cobra.Command{
		Use:   "verify --ledger FILE",
		Short: "find acknowledged commits that a crash lost",
		Long: join2(`Verify finds commits that a server acknowledged and lost in a crash. A run with
--ledger FILE records every commit that the server acknowledged, and each
transaction leaves its number in the table plumb_ledger; verify compares the two. A
commit that only the ledger has was acknowledged and lost. Commits that only the
table has were under way, and are not lost.

Keep the ledger on another machine than the server, or at least on another disk.
Exits with 1 when a commit is lost.`, loginHelp, exits),
		Example: `  plumb load oltp write_only run --ledger /mnt/usb/run1.ledger --time 600 --dsn mysql://bench@db1/sbtest
  (pull the plug of db1, start it again)
  plumb load verify --ledger /mnt/usb/run1.ledger --dsn mysql://bench@db1/sbtest`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v.note(notes)
			return v.runVerify(c, l, book, asJSON)
		},
	}
	l.flags(c)
	c.Flags().StringVar(&book, "ledger", "", "the ledger `FILE` that a run wrote")
	shell.JSONFlag(c, &asJSON, "")
	hide(c, "isolation")
	sysbenchNames(c, &notes)
	return c
}

func (v *verbs) runVerify(c *cobra.Command, l login, book string, asJSON bool) error {
	if book == "" {
		return hint.Usage("verify needs the ledger of a run", "give --ledger FILE, the same as for the run")
	}
	if _, err := durability.Read(book); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return hint.With(fmt.Errorf("read the ledger %s: no such file", book), "plumb load oltp ... run --ledger FILE writes one")
		}
		return err
	}
	s, err := v.server(&l, c.Flags().Changed)
	if err != nil {
		return err
	}
	admin, err := s.Admin(c.Context())
	if err != nil {
		return err
	}
	defer admin.Close()
	got, err := durability.Verify(c.Context(), admin, book)
	if err != nil {
		return err
	}
	if err := v.Answer(asJSON, view.VerifyDocument(got, shell.Version()), view.Verify(got, shell.Screen(v.Out))); err != nil {
		return err
	}
	if got.Lost > 0 {
		return shell.ErrFound
	}
	return nil
}
