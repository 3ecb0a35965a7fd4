// Package check reads a machine and judges it: probes and deadline, rules and
// choice, findings and plan. Every verb that wants to know what is out of line
// runs a check of its own through it; cli hands in the probes.
package check
