package record

import "time"

// tier is how close the values of a block lie: seconds.
type tier int64

const (
	seconds    tier = 1
	tenSeconds tier = 10
	minutes    tier = 60
)

// level says how a tier is kept.
type level struct {
	tier tier
	span time.Duration // of one block
	keep time.Duration // how long its blocks are kept
	hold time.Duration // how much of it stays when the recording is too large
}

// levels lists the tiers, the finest first. Each is made of the one before.
var levels = []level{
	{seconds, time.Minute, 48 * time.Hour, 6 * time.Hour},
	{tenSeconds, 10 * time.Minute, 14 * 24 * time.Hour, 48 * time.Hour},
	{minutes, time.Hour, 400 * 24 * time.Hour, 0},
}

func (t tier) step() time.Duration { return time.Duration(t) * time.Second }
