// Package processes says what the processes of a machine have open and run,
// as /proc tells, through a [host.Reader].
package processes
