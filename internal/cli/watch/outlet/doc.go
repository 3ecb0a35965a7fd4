// Package outlet is where metrics leave the machine: a listener for scrapes, a
// file for another exporter, and requests of remote write. Whoever is on the
// other end may be slow, hostile or gone: everything here is bounded.
package outlet
