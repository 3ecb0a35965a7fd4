// Package propose makes the plan of a provision from a spec and the host as it is, and carries it out.
// After each stage the host is read again and the rest is planned again. So a stage whose result is already
// there counts as done, whoever did it, and the next run continues one that was killed.
package propose
