// Package outlet is where metrics leave the machine: a listener for scrapes, a
// file for another exporter, and remote write requests. Whoever is at the
// other end may be slow, hostile or gone: everything here has a limit.
package outlet
