// Package view turns values into what a person or a program reads: the text
// of check, the tree of stack, the pages of explain, JSON v1, configuration
// lines. It is the only package that formats output, and it does no I/O of
// its own: everything is a string or goes to the writer it is given.
//
// Text is for people and may change; JSON v1 is a promise (see json.go).
package view
