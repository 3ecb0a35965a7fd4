package tpcc

// Small makes the sets of tables small enough for tests.
func Small(c Config) Config {
	c.size = size{items: 20, customers: 12, orders: 12, undelivered: 4}
	return c
}

// Roomy makes them small, but with so many items that orders seldom meet.
func Roomy(c Config) Config {
	c.Small = true
	return c
}
