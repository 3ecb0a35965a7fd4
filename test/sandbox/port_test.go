package sandbox

import "testing"

// A port is given once, and is none that the kernel gives to a connection meanwhile.
func TestAPortIsGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 500 {
		p := FreePort(t)
		if seen[p] || p >= 32768 {
			t.Errorf("port %d", p)
		}
		seen[p] = true
	}
}
