// Package page has what all pages share: how text is laid out on a screen, how
// a tree is drawn, how numbers, times and documents are written. The packages
// beside it turn one verb's result each into what a person or a program reads.
// Together they alone format output, and do no I/O of their own: everything is
// a string.
//
// Text is for people and may change; JSON v1 is a promise (see document.go).
package page
