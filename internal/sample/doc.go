// Package sample reads a host again and again, and makes windows of what it
// read: what a counter grew by in a second, what a gauge was on average.
//
// A [Source] reads one part of the host, at its own pace. It knows how to ask
// and what the answers are called; it keeps nothing between two readings, and
// whoever calls it keeps the time.
package sample
