// Package advise turns verdicts into advice for a person: findings, worst
// first; one value for each knob, with the reason when rules disagree; a plan
// of ordered steps; and what could not be judged, by what is missing.
//
// Everything here is a pure function of the verdicts, the stack and the
// catalogue. The order in which verdicts come makes no difference.
package advise
