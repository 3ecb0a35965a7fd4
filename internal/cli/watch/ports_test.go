package watch

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAnyFreePort: a port that is free on IPv4 may be somebody else's on IPv6; who asks for any port is given one that is free on both. In a
// network of its own there are only ten to choose from.
func TestAnyFreePort(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a network")
	}
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("needs a network of its own, as where unshare --net works: %v", err)
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Skipf("needs ip (apt-get install iproute2): %v: %s", err, out)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40009"), 0); err != nil {
		t.Skipf("needs to choose the ports of its network, as where /proc/sys can be written: %v", err)
	}
	for _, port := range []int{40000, 40002, 40003, 40004, 40006, 40007, 40008} {
		l, err := net.Listen("tcp6", "[::1]:"+strconv.Itoa(port))
		if err != nil {
			t.Skipf("there is no IPv6: %v", err)
		}
		defer l.Close()
	}
	for range 20 {
		all, _, err := listen(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 2 {
			t.Fatalf("it listens on %d addresses", len(all))
		}
		closeAll(all)
	}
}
