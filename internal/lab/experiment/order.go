package experiment

import "plumb/internal/draw"

// Streams of random numbers of an experiment's seed.
const (
	orderStream = 0x1ab0
	loadStream  = 0x1ab1
)

// Order gives the trials of a block, from 1, in the order in which they are
// carried out: every arm once, in an order drawn from the experiment's seed
// and the block alone. So it is the same after a crash, on another machine and
// with any later Plumb.
//
// In ABBA the block is one server that is switched there and back: of its two
// trials the first names the arm of the first and last period.
func Order(x Experiment, block int) []Trial {
	seeds := draw.Keyed(x.Seed, loadStream, int64(block))
	seed := seeds.Uint64() >> 11 // 53 bits, which every ledger keeps exactly
	trials := make([]Trial, len(x.Arms))
	for i, a := range x.Arms {
		trials[i] = Trial{Block: block, Arm: a.Name, Seed: seed}
	}
	s := draw.Keyed(x.Seed, orderStream, int64(block))
	for i := len(trials) - 1; i > 0; i-- {
		j := s.Below(int64(i) + 1)
		trials[i], trials[j] = trials[j], trials[i]
	}
	for i := range trials {
		trials[i].Position = i + 1
	}
	return trials
}

// All gives the trials of all blocks, in order.
func All(x Experiment) []Trial {
	var all []Trial
	for block := range x.Most {
		all = append(all, Order(x, block+1)...)
	}
	return all
}
