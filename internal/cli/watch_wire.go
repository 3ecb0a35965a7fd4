package cli

import (
	watchcli "plumb/internal/cli/watch"
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
func watched() watchcli.Adapters {
	return watchcli.Adapters{Dialers: dialers, Phases: phases, Finders: finders}
}

// finders lists who knows what to sample: a new engine or storage is a line here.
func finders(g dsn.Given) []sample.Finder {
	return []sample.Finder{systemsampler.Finder{}, storagesampler.Finder{}, mysqlsampler.New(g.Target(product.MySQL)),
		postgressampler.New(g.Target(product.Postgres)), mongosampler.New(g.Address(product.Mongo))}
}
