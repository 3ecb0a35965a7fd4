package proxysql

import (
	"testing"
)

// From the proxysql.cnf that the 2.x packages install, shortened.
const configText = `#file proxysql.cfg
datadir="/var/lib/proxysql"
admin_variables=
{
	admin_credentials="***"
#	mysql_ifaces="127.0.0.1:6032;/tmp/proxysql_admin.sock"
	mysql_ifaces="0.0.0.0:6032"
}
mysql_variables=
{
	threads=4
	max_connections=2048
	default_query_delay=0 // none
	interfaces="0.0.0.0:6033;/tmp/proxysql.sock"
	server_version="5.5.30"
}
mysql_servers =
(
/*	{ address="127.0.0.1" , port=3306 } */
	{ address = "db1", port = 3306 }
)
`

func TestParseConfig(t *testing.T) {
	got := parseConfig([]byte(configText))
	for name, want := range map[string]string{
		"datadir": "/var/lib/proxysql", "mysql_variables.threads": "4", "mysql_variables.default_query_delay": "0",
		"mysql_variables.interfaces": "0.0.0.0:6033;/tmp/proxysql.sock", "mysql_variables.server_version": "5.5.30",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

func TestClientPort(t *testing.T) {
	listens := []string{"tcp:0.0.0.0:6032", "tcp:0.0.0.0:6099", "unix:/tmp/proxysql.sock"}
	if got := clientPort("0.0.0.0:6099", listens); got != 6099 {
		t.Errorf("configured: got %d", got)
	}
	if got := clientPort("", listens); got != 0 {
		t.Errorf("a port that may be anything: got %d", got)
	}
}

func TestParseGreeting(t *testing.T) {
	if v, err := parseGreeting([]byte("\n8.0.30\x00\x01\x02\x03\x04")); err != nil || v != "8.0.30" {
		t.Errorf("got %q, %v", v, err)
	}
	for _, bad := range []string{"", "\n", "\xffToo many connections\x00", "\n8.0"} {
		if _, err := parseGreeting([]byte(bad)); err == nil {
			t.Errorf("%q is no greeting", bad)
		}
	}
}

func TestParseProgramVersion(t *testing.T) {
	if v := parseProgramVersion([]byte("ProxySQL version 2.5.5-10-g195bd70, codename Truls\n")); v != "2.5.5" {
		t.Errorf("got %q", v)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(configText))
	f.Fuzz(func(t *testing.T, text []byte) { parseConfig(text) })
}

func FuzzParseGreeting(f *testing.F) {
	f.Add([]byte("\n8.0.30\x00\x01"))
	f.Fuzz(func(t *testing.T, packet []byte) { _, _ = parseGreeting(packet) })
}

func FuzzParseProgramVersion(f *testing.F) {
	f.Add([]byte("ProxySQL version 2.5.5-10-g195bd70, codename Truls\n"))
	f.Fuzz(func(t *testing.T, text []byte) { parseProgramVersion(text) })
}
