package cli

import (
	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	provisioncli "plumb/internal/cli/provision"
	"plumb/internal/engine/dsn"
	mysqlhome "plumb/internal/engine/mysql/home"
	postgreshome "plumb/internal/engine/postgres/home"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/storage/layout"
)

// provision makes the command that lays hosts out, with the adapters it knows.
func (a *app) provision() *cobra.Command {
	c := provisioncli.Command(&a.Shell, provisioncli.Adapters{Dialers: dialers, Phases: phases, Setters: setters, Engines: homes, Storage: layout.New(), Tape: a.openTape})
	c.AddCommand(provisioncli.Cache(&a.Shell, lending()))
	return c
}

// homes lists the engines whose servers can be provisioned.
func homes(cat *catalog.Catalog, g dsn.Given) []provision.Engine {
	return []provision.Engine{mysqlhome.New(cat, g.Target(product.MySQL)), postgreshome.New(g.Target(product.Postgres))}
}
