// Package load drives a workload and measures it: workers, pacers, latency
// histograms, a line each second, and a judgement of the result by itself.
//
// What it holds itself to:
//
//   - Operation n is the same for any number of workers; see [Workload].
//   - In an open loop the response time counts from when an operation was due,
//     not from when a worker had time for it. Service time is kept apart.
//   - Errors and retries are counted apart from what succeeded.
//   - Warm-up is left out. Whether the rest was steady is said.
//   - A result that shows the generator, a stalled server, or a part of a run
//     is marked, never passed off as a number.
package load
