package tpcc

import "plumb/internal/load/fill"

// plan is all the tables of a configuration.
func plan(c Config) (fill.Plan, error) {
	return fill.Plan{Workload: workload, Settings: settings(c)}, nil
}
