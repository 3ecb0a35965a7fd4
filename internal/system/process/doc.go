// Package process finds the database servers that run on a host by
// themselves, from /proc, and reads what the kernel keeps about each: limits,
// memory, sockets, memory policy, and the control group it runs in.
//
// It asks no server anything and decides nothing: a server without a login is
// still seen here. Readers fill [stack] things of the kinds process and
// cgroup; parsers take bytes and are pure.
//
// Sources: proc(5) files of each process, Documentation/admin-guide/cgroup-v1
// and cgroup-v2 of the kernel.
package process
