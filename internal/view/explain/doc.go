// Package explain writes the page of a rule or a setting, and the lists of rules.
package explain
