// Package record shows recordings of watch: what they hold, the unit that
// writes them, and their values in the form that Prometheus reads.
package record
