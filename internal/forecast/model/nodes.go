package model

import (
	"fmt"
	"math"
)

// Nodes is data that is spread over equal servers, each with a cache and a disk
// of its own. Two points are measured: one node, and as many as hold all the data
// in their caches.
type Nodes struct {
	Clients    int
	Data       float64 // bytes of all of it
	Cache      float64 // bytes of a node's
	One        float64 // transactions a second of one node
	Ceiling    float64 // transactions a second when nothing is missed
	Popularity Popularity
	Known      bool // the popularity is known, and not guessed
}

// Predict forecasts the rate of n nodes.
func (s Nodes) Predict(n int) Result {
	switch {
	case n < 1 || s.Clients < 1 || !(s.Data > 0) || !(s.Cache > 0) || !(s.One > 0):
		return refused("measure one node with its cache far smaller than its data", "the rate of one node, its clients, its data or its cache is not known")
	case !(s.Ceiling > 0):
		return refused("measure once with all the data in memory: with less data, or on a node with more memory", "the rate without misses is not known, and more nodes approach it")
	case s.Cache >= s.Data:
		return refused("measure one node with less memory", "one node has all the data in its cache, so it does not show what a miss costs")
	case s.Ceiling <= s.One:
		return refused("measure both again", "one node does %.4g a second, and without misses it would be %.4g: no more", s.One, s.Ceiling)
	}
	m := s.model(s.Popularity)
	r := Result{Model: "closed network of disks, misses by Che", Assumptions: []string{
		"each transaction goes to one node, and each node gets as many",
		"the clients, and their think times, stay the same",
		"what the load does without misses is a limit of the clients and of what is between them and the nodes: it does not rise with their number",
	}}
	value := m.rate(n)
	low, high := value, value
	if !s.Known {
		r.Assumptions = append(r.Assumptions, "how the reads are spread over the data is a guess; a trace of them (plumb forecast cache --trace) would show it")
	}
	for _, p := range s.doubtful() {
		v := s.model(p).rate(n)
		low, high = min(low, v), max(high, v)
	}
	e := between(value, low/(1+nodesError), high*(1+nodesError))
	r.Values = []Value{{Name: "rate", Unit: PerSecond, Estimate: e,
		How: fmt.Sprintf("%.1f %% of the reads miss, and %.1f %% on one node", 100*m.missed(n), 100*m.missed(1))},
		response(s.Clients, e, "clients divided by their rate (Little's law), with what they think between transactions")}
	linear := min(s.One*float64(n), s.Ceiling)
	r.Rivals = []Rival{{Name: "closed network", Value: value, Weight: 1, Error: math.NaN()}, {Name: "proportional to the nodes", Value: linear, Error: math.NaN()}}
	r.Warnings = []string{"the methods could not be compared on this load: there are only two points"}
	return r
}

// nodesError is what the forecast is off by where the popularity is known.
const nodesError = 0.10

// doubtful are the popularities that are possible beside the one that was given.
func (s Nodes) doubtful() []Popularity {
	if s.Known {
		return nil
	}
	return []Popularity{{Skew: 1}, {Skew: 0.05}}
}

// spread is the network of nodes with what a miss costs.
type spread struct {
	Nodes
	misses misses
	think  float64 // seconds of a transaction that misses nothing, for so many clients
	disk   float64 // seconds of the disk for a transaction that only misses
}

// model finds what a miss costs from the rate of one node.
func (s Nodes) model(p Popularity) spread {
	m := spread{Nodes: s, misses: p.misses(), think: float64(s.Clients) / s.Ceiling}
	low, high := 0.0, float64(s.Clients)/s.One
	for m.disk = high; m.rate(1) > s.One && high < 1e6; m.disk = high {
		high *= 2
	}
	for range 50 {
		m.disk = (low + high) / 2
		if m.rate(1) > s.One {
			low = m.disk
		} else {
			high = m.disk
		}
	}
	return m
}

func (m spread) rate(n int) float64 {
	w := Network{Think: m.think, Stations: []Station{{Demand: m.disk * m.missed(n), Copies: n}}}
	return w.Rate(m.Clients)
}

// missed is the part of the reads that n nodes miss.
func (m spread) missed(n int) float64 { return m.misses.at(float64(n) * m.Cache / m.Data) }
