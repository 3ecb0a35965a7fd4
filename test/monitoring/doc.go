// Package monitoring has plumb's metrics taken by real monitoring systems: a
// Prometheus, a VictoriaMetrics, a node_exporter. What is watched is made up
// where the test says so: a host on which everything is wrong at once cannot be
// had.
package monitoring
