// Package sampler reads PostgreSQL servers again and again: their counters,
// what their sessions do or wait for, and what their statements cost. On demand
// it tells the plan of a statement, and which indexes serve no one.
//
// It only reads. What a release does not count is not given; what a setting or
// a right would show is a gap that names it. Of a statement it gives the text of
// pg_stat_statements, and of that no literal.
package sampler
