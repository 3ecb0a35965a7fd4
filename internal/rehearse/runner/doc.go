// Package runner carries a rehearsal out. It reads the host, lets package
// rehearse propose the experiments, hands them to the lab within the budget, and
// keeps what it takes to go on with a rehearsal that was cut off. What comes out is
// a rehearse.Result; cli wires the adapters in, and shows it.
package runner
