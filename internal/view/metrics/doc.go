// Package metrics shows what watch knows to monitoring systems: as a page of
// metrics that Prometheus and its kin scrape, as requests of remote write, as
// alert rules, as a dashboard, and as the line of a plugin.
//
// Names, units and help come from the catalogue. What is shown is the last
// sample: nobody asks a server because of a scrape. A value that is late is not
// shown at all.
package metrics
