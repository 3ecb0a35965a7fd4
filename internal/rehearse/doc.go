// Package rehearse turns advice into an experiment and its outcome into a
// verdict on each step: what it brings for this server, on this storage, under
// a load like its own, with an interval.
//
// It is pure. Propose makes the experiments from what was read of a host and
// from the plan that check made; package lab carries them out; Judge reads the
// reports. Nothing here touches a machine.
package rehearse
