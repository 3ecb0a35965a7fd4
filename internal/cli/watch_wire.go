package cli

import (
	"strings"

	"plumb/internal/cli/watch/feed"
	"plumb/internal/engine/dsn"
	mongosampler "plumb/internal/engine/mongo/sampler"
	mysqlsampler "plumb/internal/engine/mysql/sampler"
	postgressampler "plumb/internal/engine/postgres/sampler"
	"plumb/internal/product"
	"plumb/internal/sample"
	storagesampler "plumb/internal/storage/sampler"
	systemsampler "plumb/internal/system/sampler"
)

// watched are the adapters of watch.
func watched() feed.Adapters {
	return feed.Adapters{Dialers: dialers, Phases: phases, Finders: finders, Grants: watchGrants}
}

// finders lists who knows what to sample: a new engine or storage is a line here.
func finders(g dsn.Given) []sample.Finder {
	return []sample.Finder{systemsampler.Finder{}, storagesampler.Finder{}, mysqlsampler.New(g.Target(product.MySQL)),
		postgressampler.New(g.Target(product.Postgres)), mongosampler.New(g.Address(product.Mongo))}
}

// watchGrants gives, for each engine, what makes the least user a watch needs.
func watchGrants() string {
	parts := []string{mysqlsampler.Grants(product.MariaDB, ""), mysqlsampler.Grants(product.MySQL, ""), mysqlsampler.Grants(product.MySQL, "5.7"),
		postgressampler.Grants(), mongosampler.Grants()}
	return "-- Look through these, and run those of your server.\n\n" + strings.Join(parts, "\n")
}
