package instance

import "testing"

// TestKeptOut: labels as the kernel gives them, and lines as servers write them. No host with AppArmor was at hand.
func TestKeptOut(t *testing.T) {
	denied := "mysqld: [ERROR] Failed to open required defaults file: /var/lib/plumb-copies/dev/run/my.cnf\nOS errno: 13 - Permission denied"
	for _, c := range []struct{ label, said, want string }{
		{"/usr/sbin/mysqld (enforce)\n", denied, "/usr/sbin/mysqld"},
		{"mysqld (enforce)", "[ERROR] InnoDB: Operating system error number 13 in a file operation. Error: 13", "mysqld"},
		{"/usr/sbin/mysqld (enforce)\n", "[ERROR] InnoDB: Corrupted page", ""},
		{"/usr/sbin/mysqld (complain)\n", denied, ""},
		{"unconfined\n", denied, ""},
		{"system_u:system_r:mysqld_t:s0\x00", denied, ""},
		{"", denied, ""},
	} {
		if got := keptOut(c.label, c.said); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.label, c.said, got, c.want)
		}
	}
}
