// Package keep decides which points in time stay and which go. It is pure: it reads
// no clock, no file and no storage.
//
// [Parse] reads what a person wants ("last=3,24h,7d,4w,12m,verified=2"), [Judge]
// gives a [Plan] for each server with the reason for every point, and says when
// it had better not be carried out ([Brake]).
//
// A period counts when there is a point in it: 7d are the last seven days that have
// points, so that a server which was off for a month, or a clock that runs ahead,
// costs none. Periods are those of UTC. Of each period one point stays: a proven
// one before others, one whose drill failed last, and of like ones the newest. What
// stays once therefore stays at the next run too.
package keep
