// Package lab writes reports of experiments as text, JSON, CSV and as a page to
// send, and says how a run goes.
package lab
