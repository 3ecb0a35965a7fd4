// Package check writes the report of a check as text, as JSON and as lines for
// configuration files, and the summary of many.
package check
