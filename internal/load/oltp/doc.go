// Package oltp has the workloads that sysbench made common: the same tables,
// the same statements, options of the same names.
//
// What differs, and why: an event is a function of the seed and its number,
// so it is the same for any number of workers. select_random_points draws its
// keys around a point of the event's own, where sysbench gives each thread a
// segment of the table.
package oltp
