package tpcc

import "plumb/internal/draw"

// Streams of random numbers of a run.
const (
	fromDeck = 0x7cf0 + iota
	fromOperation
	fromThink
)

// deckSize is after how many operations the mix is exact (TPC-C 5.2.4.2 has
// decks too).
const deckSize = 100

// mix is how many operations of each kind a deck has.
var mix = [kinds]int64{opNewOrder: 45, opPayment: 43, opOrderStatus: 4, opDelivery: 4, opStockLevel: 4}

// kindOf deals the operations. Each deck is shuffled by its own key, so any
// part of a run is close to the mix, and in no part is there a pattern.
func kindOf(seed uint64, n int64) int {
	s := draw.Keyed(seed, fromDeck, n/deckSize)
	card := draw.Permute(s.Uint64(), n%deckSize, deckSize)
	kind := 0
	for card >= mix[kind] {
		card -= mix[kind]
		kind++
	}
	return kind
}

// Compat mode draws from 23 or, with purge, 24.
const (
	compatDraws  = 23
	compatPurged = 24
)

// compatKind is the mix of sysbench-tpcc: 10 new orders, 10 payments and one
// each of the others, drawn anew every time.
func compatKind(s *draw.Stream, purge bool) int {
	most := int64(compatDraws)
	if purge {
		most = compatPurged
	}
	switch n := s.Between(1, most); {
	case n <= 10:
		return opNewOrder
	case n <= 20:
		return opPayment
	case n == 21:
		return opOrderStatus
	case n == 22:
		return opDelivery
	case n == 23:
		return opStockLevel
	}
	return opPurge
}
