// Package tui shows on a terminal what watch says, while it says it. The model
// is a pure function of the messages it gets; run.go alone has a terminal.
package tui
