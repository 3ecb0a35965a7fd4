// Package files puts files, and so filesystems and devices, under load: the
// modes of sysbench's fileio, a sweep over numbers of threads, and a probe of
// what fsync costs and whether it can be believed.
//
// Like every workload it is a pure function of the seed and the operation's
// number. What is written is always new: every block of every run differs,
// and does not compress beyond the part asked for, so that neither
// compression nor deduplication nor a device that keeps zeros apart can make
// a number look good.
package files
