package model

import "math"

// Network is a closed network of queues: clients that each send a transaction,
// wait for its end, and send the next one. A transaction needs its demand of
// every station.
type Network struct {
	Think    float64   // seconds between transactions, and whatever in them waits for nobody
	Stations []Station // what is waited for
}

// Station is what transactions wait for.
type Station struct {
	Name   string
	Demand float64                 // seconds of one transaction alone
	Copies int                     // of equal stations that share the transactions, one each visit; 0 is 1
	Speed  func(n float64) float64 // how much faster n requests are done than one; nil: no faster
}

// Cores is the speed of a station of equal servers with one queue.
func Cores(n int) func(float64) float64 {
	return func(jobs float64) float64 { return max(1, min(jobs, float64(n))) }
}

// Channels is the speed of a device of m channels that requests hit at random,
// so that some idle while requests wait for others: the classic result of balls
// in bins.
func Channels(m float64) func(float64) float64 {
	return func(jobs float64) float64 { return occupied(jobs, m) }
}

func occupied(jobs, m float64) float64 {
	if m <= 1 {
		return 1
	}
	return max(1, m*-math.Expm1(jobs*math.Log1p(-1/m)))
}

// Flow is what a number of clients gets out of a network.
type Flow struct {
	Rate     float64 // transactions a second
	Response float64 // seconds of one, without Think
	Busiest  string  // the station with the most waiting
}

// mostClients bounds the work of solving.
const mostClients = 100000

// Solve gives the flow of n clients: the mean value analysis of M. Reiser and
// S. S. Lavenberg (1980). A station that gets faster with its queue is taken at
// the speed of the queue that an arriving client finds, itself included, which
// is exact for one that does not, and an approximation for the others.
func (w Network) Solve(n int) Flow {
	queues := make([]float64, len(w.Stations))
	times := make([]float64, len(w.Stations))
	var f Flow
	for k := 1; k <= min(n, mostClients); k++ {
		total := 0.0
		for i, s := range w.Stations {
			times[i] = s.time(queues[i])
			total += times[i]
		}
		f.Response = total
		f.Rate = float64(k) / (w.Think + total)
		for i := range queues {
			queues[i] = f.Rate * times[i]
		}
	}
	longest := -1.0
	for i, s := range w.Stations {
		if wait := times[i] - s.Demand; wait > longest {
			longest, f.Busiest = wait, s.Name
		}
	}
	return f
}

// time is that of a transaction which finds a queue of others.
func (s Station) time(queue float64) float64 {
	found := 1 + queue/float64(max(1, s.Copies))
	if s.Speed == nil {
		return s.Demand * found
	}
	return s.Demand * found / s.Speed(found)
}
