// Package forecast has what every forecast is made of: quantiles, what they
// assume, the rivals they were compared with, and the refusal that stands in
// their place when the data cannot carry them. It is pure.
package forecast
