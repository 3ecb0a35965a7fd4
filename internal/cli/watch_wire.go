package cli

import (
	"strings"

	"plumb/internal/cli/watch/feed"
	"plumb/internal/engine/dsn"
	mongosampler "plumb/internal/engine/mongo/sampler"
	"plumb/internal/engine/mysql"
	mysqlsampler "plumb/internal/engine/mysql/sampler"
	"plumb/internal/engine/postgres"
	postgressampler "plumb/internal/engine/postgres/sampler"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/sample"
	storagesampler "plumb/internal/storage/sampler"
	systemsampler "plumb/internal/system/sampler"
)

// watched are the adapters of watch.
func (a *app) watched() feed.Adapters {
	return feed.Adapters{Again: a.itself, Dialers: watchDialers, Phases: phases, Finders: finders, Planners: planners, Storages: pointStorages("", ""), Grants: watchGrants}
}

// watchDialers are all dialers, and those of sessions that explain statements.
func watchDialers(g dsn.Given) map[string]host.Dialer {
	all := dialers(g)
	all[mysql.PlannerEngine], all[postgres.PlannerEngine] = mysql.Planner{}, postgres.Planner{}
	return all
}

// finders lists who knows what to sample: a new engine or storage is a line here.
func finders(g dsn.Given, databases bool) []sample.Finder {
	pg := postgressampler.New(g.Target(product.Postgres))
	pg.Databases = databases
	return []sample.Finder{systemsampler.Finder{}, storagesampler.Finder{}, mysqlsampler.New(g.Target(product.MySQL)),
		pg, mongosampler.New(g.Address(product.Mongo))}
}

// planners lists who asks servers for plans and indexes.
func planners(g dsn.Given, powerful bool) map[string]sample.Planner {
	return map[string]sample.Planner{
		product.MySQL:    mysqlsampler.Planner{Finder: mysqlsampler.New(g.Target(product.MySQL)), Powerful: powerful},
		product.Postgres: postgressampler.Planner{Finder: postgressampler.New(g.Target(product.Postgres)), Powerful: powerful},
	}
}

// watchGrants gives, for each engine, what makes the least user a watch needs.
func watchGrants() string {
	parts := []string{mysqlsampler.Grants(product.MariaDB, ""), mysqlsampler.Grants(product.MySQL, ""), mysqlsampler.Grants(product.MySQL, "5.7"),
		postgressampler.Grants(), mongosampler.Grants()}
	return "-- Look through these, and run those of your server.\n\n" + strings.Join(parts, "\n")
}
