package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	provisioncli "plumb/internal/cli/provision"
	"plumb/internal/cli/provision/rehearse"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	mysqlhome "plumb/internal/engine/mysql/home"
	mysqlpoint "plumb/internal/engine/mysql/point"
	mysqlswap "plumb/internal/engine/mysql/swap"
	postgreshome "plumb/internal/engine/postgres/home"
	postgresswap "plumb/internal/engine/postgres/swap"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/provision/move"
	"plumb/internal/storage/layout"
	"plumb/internal/system/setup"
)

// provision makes the command that lays out hosts, with the adapters it knows.
func (a *app) provision() *cobra.Command {
	c := provisioncli.Command(&a.Shell, provisioncli.Adapters{Dialers: dialers, Phases: phases, Setters: setters, Engines: homes, Storage: layout.New(), System: setup.System{}, Mover: mover, Tape: a.openTape})
	c.AddCommand(provisioncli.Cache(&a.Shell, lending()), provisioncli.Swap(&a.Shell, lending(), provisioncli.Swapping{Engines: homes, Swappers: swappers, System: setup.System{}, Rehearse: rehearsals}))
	return c
}

// homes lists the engines whose servers can be provisioned.
func homes(cat *catalog.Catalog, g dsn.Given) []provision.Engine {
	return []provision.Engine{mysqlhome.New(cat, g.Target(product.MySQL)), postgreshome.New(g.Target(product.Postgres))}
}

// swappers lists what brings a server's data to another version.
func swappers(cat *catalog.Catalog, g dsn.Given) []provision.Swapper {
	return []provision.Swapper{postgresswap.Swapper{Catalog: cat}, mysqlswap.Swapper{Point: mysqlpoint.New(cat, g.Target(product.MySQL))}}
}

// rehearsals makes what tries swaps on copies of points.
func rehearsals(s *shell.Shell, by provision.Swapper) func(context.Context, shell.Source, string, provision.Swap) error {
	return rehearse.Rehearse{Shell: s, Points: keepers()}.Of(by)
}

// mover makes what moves the data of a server. It needs the engines of points, which know where a server stands.
func mover(cat *catalog.Catalog, g dsn.Given, journal string) provision.Mover {
	return move.Mover{Engines: pointEngines(cat, g), Dir: journal, Now: time.Now}
}
