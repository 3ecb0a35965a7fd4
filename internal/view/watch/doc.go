// Package watch shows what watch says of a moment: one screen for a person, one
// document for a program.
package watch
