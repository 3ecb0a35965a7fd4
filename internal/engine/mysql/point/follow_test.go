package point

import (
	"strings"
	"testing"

	engine "plumb/internal/engine/mysql"
)

// TestAPasswordIsHidden: a server's error can repeat the statement, with the password as it is written there or as it is.
func TestAPasswordIsHidden(t *testing.T) {
	const password = `se'cr\et`
	for _, said := range []string{"near '" + engine.Literal(password) + "' at line 1", "for " + password} {
		if got := hidden(said, password); strings.Contains(got, "cr") || !strings.Contains(got, "***") {
			t.Errorf("%s: %s", said, got)
		}
	}
	if got := hidden("near ''", ""); got != "near ''" {
		t.Errorf("without a password: %s", got)
	}
}

func TestAddressesOfSources(t *testing.T) {
	for address, want := range map[string]string{"db1:3306": "db1", "[::1]:3306": "::1", "[fe80::1%eth0]:3306": "fe80::1%eth0", strings.Repeat("h", longestHost) + ":1": strings.Repeat("h", longestHost)} {
		if host, port, err := hostPort(address); err != nil || host != want || port == 0 {
			t.Errorf("%s: %q, %d, %v", address, host, port, err)
		}
	}
	for _, address := range []string{"", ":3306", "db1", "db1:0", "db1:65536", "db1:x", strings.Repeat("h", longestHost+1) + ":1"} {
		if host, port, err := hostPort(address); err == nil {
			t.Errorf("%q is %q, %d", address, host, port)
		}
	}
}
