// Package predict tells what a host will be once a spec is carried out: the stack as it was read,
// with the pool, the datasets and the server's places as the plan makes them, judged by Plumb's own
// rules. What the rules advise of a thing that does not exist yet is what it is made with; so there is
// no second list of good values. It is pure.
package predict
