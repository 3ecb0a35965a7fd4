// Package capture keeps what speaks for a verdict at the moment it is raised:
// the minutes before, and what the threads of the server were doing. It decides
// and gathers; who calls it writes.
package capture
