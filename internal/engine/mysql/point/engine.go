// Package point takes points in time of MariaDB, MySQL and Percona Server, and
// starts copies of them.
//
// What is typed to a server is decided by [Engine.Modes], shown by a dry run, and
// run by [Engine.Quiesce] as it stands there. All that is changed in a copy is
// changed with the rights of the server's own user.
package point

import (
	"plumb/internal/catalog"
	engine "plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect"
)

// Engine implements [protect.Engine].
type Engine struct{ probe *engine.Probe }

var (
	_ protect.Engine = (*Engine)(nil)
	_ protect.Teller = (*Engine)(nil)
)

// New makes an engine that finds servers as the probe does; given is the server of a
// data source name or nil.
func New(c *catalog.Catalog, given *host.Target) *Engine {
	return &Engine{engine.NewProbe(c, given)}
}

// Kind implements protect.Engine.
func (*Engine) Kind() string { return product.MySQL }

func isMariaDB(sv protect.Server) bool { return sv.Flavor == product.MariaDB }

func since(sv protect.Server, version string) bool { return engine.AtLeast(sv.Version, version) }

// on tells whether a variable is switched on.
func on(value string) bool {
	b, _ := engine.Truth(value)
	return b
}
