// Package experiment holds what a lab works on: the question a file asks, the
// arms it compares, the trials that answer it, and the record each trial
// leaves. It is plain data and pure functions; package lab carries it out.
package experiment
