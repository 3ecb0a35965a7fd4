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
	Demand float64                 // seconds of one transaction alone
	Copies int                     // of equal stations that share the transactions, one each visit; 0 is 1
	Speed  func(n float64) float64 // how much faster n requests are done than one; nil: no faster
}

// occupied is the speed of a device of m channels that requests hit at random,
// so that some idle while requests wait for others: the classic result of balls
// in bins.
func occupied(jobs, m float64) float64 {
	if m <= 1 {
		return 1
	}
	return max(1, m*-math.Expm1(jobs*math.Log1p(-1/m)))
}

// mostClients bounds the work of solving.
const mostClients = 100000

// Rate is how many transactions a second n clients get: the mean value analysis of
// M. Reiser and S. S. Lavenberg (1980). A station that gets faster with its queue
// is taken at the speed of the queue that an arriving client finds, itself
// included: exact for one that does not and for one alone, and near it otherwise.
func (w Network) Rate(n int) (rate float64) {
	queues := make([]float64, len(w.Stations))
	times := make([]float64, len(w.Stations))
	for k := 1; k <= min(n, mostClients); k++ {
		total := w.Think
		for i, s := range w.Stations {
			times[i] = s.time(queues[i])
			total += times[i]
		}
		rate = float64(k) / total
		for i := range queues {
			queues[i] = rate * times[i]
		}
	}
	return rate
}

// time is that of a transaction which finds a queue of others.
func (s Station) time(queue float64) float64 {
	found := 1 + queue/float64(max(1, s.Copies))
	if s.Speed == nil {
		return s.Demand * found
	}
	return s.Demand * found / s.Speed(found)
}
