// Package propose makes the plan of a provision from a spec and the host as it is, and carries it out.
// After each stage the host is read again, and the rest is planned anew: so what was done already is
// found done, whoever did it, and a run that was killed is gone on with by the next.
package propose
