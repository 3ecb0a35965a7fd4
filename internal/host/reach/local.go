package reach

import "net"

// IsLocal reports whether an address is one of this machine. A name other than
// localhost is not looked up: false then means unknown.
func IsLocal(network, address string) bool {
	if network == "unix" {
		return true
	}
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if name == "localhost" {
		return true
	}
	ip := net.ParseIP(name)
	if ip == nil || ip.IsLoopback() {
		return ip != nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}
