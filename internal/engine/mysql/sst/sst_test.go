package sst

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"plumb/internal/dice"
	"plumb/internal/protect"
)

const where = "216d7a14-e880-11f1-baec-9e2e9ba72ef9:35453"

func TestRequest(t *testing.T) {
	// As MariaDB 10.11.19 gives them.
	donor := strings.Fields("--role donor --address 127.0.0.1:44401/plumb/x --local-port 37495 --socket /run/mysqld.sock --progress 0 --datadir /var/lib/mysql/ --defaults-file /etc/my.cnf --gtid " + where + " --gtid-domain-id 3 --bypass --mysqld-args --role=joiner")
	r, err := ParseRequest(donor)
	if err != nil || r != (Request{Role: RoleDonor, Address: "127.0.0.1:44401/plumb/x", Datadir: "/var/lib/mysql", State: State{where, "3"}, Bypass: true}) {
		t.Errorf("%+v, %v", r, err)
	}
	joiner := strings.Fields("--role joiner --address 127.0.0.1 --datadir /d --defaults-file /etc/my.cnf --parent 17 --progress 0 --mysqld-args --wsrep-new-cluster")
	if r, err := ParseRequest(joiner); err != nil || r.Parent != "17" || r.Datadir != "/d" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []string{"", "--role", "--role donor", "--role x --datadir /d --address a", "--role joiner --datadir d --address a", "--role joiner --datadir /d", "--role donor --datadir /d --address a --gtid 1:2"} {
		if _, err := ParseRequest(strings.Fields(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1", "db1.example.com"} {
		a := Address{host, "4444", dice.Hex(16), strings.Repeat("0f", 32)}
		if b, err := parseAddress(a.String()); err != nil || b != a {
			t.Errorf("%s: %+v, %v", a, b, err)
		}
		// Galera lets no other characters through, and MariaDB reads 512 bytes of the line.
		if strings.Trim(a.String(), "0123456789abcdefghijklmnopqrstuvwxyz.:[]/-_") != "" || len("ready "+a.String()) > 500 {
			t.Errorf("%s does not get through", a)
		}
		if a.proof("x") == a.proof("") || a.proof("x") == (Address{host, "4444", dice.Hex(16), a.Print}).proof("x") {
			t.Error("the proof does not depend on all it should")
		}
	}
	for text, want := range map[string][2]string{"10.0.0.1": {"10.0.0.1", "4444"}, "10.0.0.1:5": {"10.0.0.1", "5"}, "[::1]": {"::1", "4444"}, "[::1]:5": {"::1", "5"}, "h:": {"h:", "4444"}} {
		if host, port := place(text); host != want[0] || port != want[1] {
			t.Errorf("%s: %s, %s", text, host, port)
		}
	}
}

// stream is what a donor sends of some bytes.
func stream(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	line, err := writeHeader(&out, header{version, where, false})
	must(t, err)
	s := newSender(&out, line)
	for _, part := range [][]byte{data[:len(data)/3], data[len(data)/3:]} {
		if n, err := s.Write(part); err != nil || n != len(part) {
			t.Fatal(n, err)
		}
	}
	must(t, s.end())
	return out.Bytes()
}

func read(in io.Reader) ([]byte, bool, error) {
	r := bufio.NewReaderSize(in, longest)
	_, _, line, err := readHeader(r)
	if err != nil {
		return nil, false, err
	}
	v := newReceiver(r, line)
	got, err := io.ReadAll(v)
	return got, v.whole, err
}

// TestStream: what comes is what was sent, and nothing that was cut off or changed is taken for whole.
func TestStream(t *testing.T) {
	data := bytes.Repeat([]byte("plumb"), 40_000)
	sent := stream(t, data)
	got, whole, err := read(iotest.HalfReader(bytes.NewReader(sent)))
	if err != nil || !whole || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %v, %v", len(got), whole, err)
	}
	if got, whole, err := read(bytes.NewReader(stream(t, nil))); err != nil || !whole || len(got) > 0 {
		t.Errorf("nothing: %v, %v", whole, err)
	}
	for n := 0; n < len(sent); n += 1 + n/50 {
		if _, whole, err := read(bytes.NewReader(sent[:n])); err == nil || whole {
			t.Fatalf("%d of %d bytes are whole", n, len(sent))
		}
		bad := bytes.Clone(sent)
		bad[n] ^= 1
		if got, whole, err := read(bytes.NewReader(bad)); err == nil && whole && !bytes.Equal(got, data) {
			t.Fatalf("byte %d was changed, and nobody sees it", n)
		}
	}
	if _, whole, err := read(bytes.NewReader(sent[:len(sent)-1])); !errors.Is(err, errCut) || whole {
		t.Error(err)
	}
}

// TestAccept: strangers are sent away and cannot keep the donor out; the first with the proof is it.
func TestAccept(t *testing.T) {
	c, print, err := identity()
	must(t, err)
	l, err := listen("127.0.0.1", "0", c)
	must(t, err)
	host, port, _ := net.SplitHostPort(l.Addr().String())
	a := Address{host, port, dice.Hex(16), print}
	for i := range 30 { // of which some say nothing
		c, err := net.Dial("tcp", l.Addr().String())
		must(t, err)
		defer c.Close()
		if i%2 == 0 {
			_, _ = c.Write([]byte("GET / HTTP/1.0\r\n\r\n"))
		}
	}
	got := make(chan error, 1)
	go func() {
		c, err := accept(t.Context(), l, a.proof("secret"), func(string) {})
		if err == nil {
			_, err = io.WriteString(c, "welcome\n")
		}
		got <- err
	}()
	stranger, err := call(t.Context(), a)
	must(t, err)
	_, _ = io.WriteString(stranger, a.proof("guess")+"\n")
	if _, err := bufio.NewReader(stranger).ReadByte(); err == nil {
		t.Error("a stranger is welcome")
	}
	donor, err := call(t.Context(), a)
	must(t, err)
	_, err = io.WriteString(donor, a.proof("secret")+"\n")
	must(t, err)
	if line, err := readLine(bufio.NewReader(donor)); err != nil || line != "welcome" {
		t.Errorf("%q, %v", line, err)
	}
	must(t, <-got)
	if _, err := call(t.Context(), a); err == nil {
		t.Error("it still listens")
	}
}

// TestAcceptEnds: nobody waits for a donor when the server is gone.
func TestAcceptEnds(t *testing.T) {
	c, _, err := identity()
	must(t, err)
	l, err := listen("127.0.0.1", "0", c)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := accept(ctx, l, "x", func(string) {}); err == nil {
		t.Error("somebody came")
	}
}

// TestAnotherJoiner: a donor sends nothing to who answers with another certificate.
func TestAnotherJoiner(t *testing.T) {
	c, _, err := identity()
	must(t, err)
	_, print, err := identity()
	must(t, err)
	l, err := listen("127.0.0.1", "0", c)
	must(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = c.(*tls.Conn).Handshake() }()
		}
	}()
	host, port, _ := net.SplitHostPort(l.Addr().String())
	if _, err := call(t.Context(), Address{host, port, dice.Hex(16), print}); err == nil || !strings.Contains(err.Error(), "another than the joiner") {
		t.Error(err)
	}
}

func TestWhatIsSent(t *testing.T) {
	for name, sent := range map[string]bool{"ibdata1": true, "ib_logfile0": true, "undo001": true, "aria_log.00000001": true, "aria_log_control": true, "grastate.dat": false, "gvwstate.dat": false,
		"galera.cache": false, "server-key.pem": false, "auto.cnf": false, "host.err": false, "binlog.000001": false, "master.info": false, "ibtmp1": false, "tables_flushed": false, "dump.sql": false} {
		if (entry{name: name}).data() != sent {
			t.Error(name)
		}
	}
	for name, sent := range map[string]bool{"mysql": true, "shop": true, "lost+found": false, ".ssh": false, fresh: false, old + "x": false, "#rocksdb": false} {
		if (entry{name, true}).data() != sent {
			t.Error(name)
		}
	}
}

func TestOneDirectory(t *testing.T) {
	// As MariaDB 10.11.19 says it.
	const help = "aria-log-dir-path                                            /d/\ninnodb-data-file-path                                        ibdata1:12M:autoextend\ninnodb-data-home-dir                                         (No default value)\n" +
		"innodb-log-group-home-dir                                    (No default value)\ninnodb-undo-directory                                        (No default value)\n"
	if err := inOne("/d", help); err != nil {
		t.Error(err)
	}
	for from, to := range map[string]string{"innodb-log-group-home-dir                                    (No default value)": "innodb-log-group-home-dir /log", "aria-log-dir-path                                            /d/": "aria-log-dir-path /e",
		"ibdata1:12M": "/x/ibdata1:12M", "innodb-undo-directory  ": "other "} {
		if err := inOne("/d", strings.Replace(help, from, to, 1)); err == nil {
			t.Errorf("%s is accepted", to)
		}
	}
	sv := protect.Server{Dirs: []protect.Dir{{Role: "data", Path: "/d"}, {Role: "redo", Path: "/d"}, {Role: "binlog", Path: "/logs"}}}
	if err := Sendable(sv); err != nil {
		t.Error(err)
	}
	sv.Dirs = append(sv.Dirs, protect.Dir{Role: "redo", Path: "/log"})
	if err := Sendable(sv); err == nil {
		t.Error("a redo log elsewhere is sent")
	}
}

func FuzzWire(f *testing.F) {
	f.Add([]byte(`{"version":1,"state":"`+where+` 3"}`+"\n\x00\x00\x00\x01x\x00\x00\x00\x00"), "127.0.0.1:4444/plumb/"+strings.Repeat("0", 32)+"/"+strings.Repeat("0", 64))
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		_, _, _ = read(bytes.NewReader(data))
		if a, err := parseAddress(text); err == nil && a.Token == "" {
			t.Error("an address without a token")
		}
		if s, err := parseState(text); err == nil && !strings.Contains(s.Position, ":") {
			t.Error(s)
		}
		_, _ = ParseRequest(strings.Fields(text))
		_ = inOne("/d", text)
	})
}
