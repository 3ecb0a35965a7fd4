// Package model forecasts from a model of what a server does: how often a cache
// of some size misses, how long requests wait for one another, what ZFS keeps of
// its own in memory, what a volume gives and costs, what monitoring takes, and
// when an SSD is worn. It is pure.
//
// Every number has its range, what it assumes, and the naive rival it was
// compared with, which is used where it does better. What cannot be known is
// refused, with the measurement that would permit it.
package model
