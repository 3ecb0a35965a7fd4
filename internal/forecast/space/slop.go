package space

// Slop is what a pool keeps back for itself: spa_get_slop_space of OpenZFS,
// with its parameters as they come. Before 2.1 it had no upper bound.
func Slop(size float64) float64 {
	const shift, least, most = 32, 128 << 20, 128 << 30
	return max(min(size/shift, most), min(size/2, least))
}
