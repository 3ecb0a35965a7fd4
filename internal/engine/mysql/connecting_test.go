package mysql

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/host/reach"
)

// somebody sits on the way to a server, and asks for the password the way each
// plugin allows: with a key of his own. He gives what he was told last.
func somebody(c net.Conn, plugin string, key []byte, told chan<- []byte) {
	defer c.Close()
	defer close(told)
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	packet := func(n byte, body []byte) {
		_, _ = c.Write(append([]byte{byte(len(body)), byte(len(body) >> 8), 0, n}, body...))
	}
	read := func() []byte {
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return nil
		}
		body := make([]byte, int(head[0])|int(head[1])<<8)
		_, _ = io.ReadFull(c, body)
		return body
	}
	greeting := append([]byte{10}, "8.0.36\x00\x01\x00\x00\x00abcdefgh\x00\x02\x82\x2d\x02\x00\x0f\x00\x15"...)
	greeting = append(append(append(greeting, make([]byte, 10)...), "ijklmnopqrst\x00"...), plugin+"\x00"...)
	packet(0, greeting)
	told <- read()
	if plugin == "caching_sha2_password" {
		packet(2, []byte{1, 4})
		told <- read() // the request for the key
		packet(4, append([]byte{1}, key...))
	} else {
		packet(2, append([]byte{1}, key...))
	}
	told <- read() // the password, in our own key
}

// TestNoPasswordLeavesReadable: a server over a network that asks for the
// password itself, without TLS, does not get it in a key that came over the
// same line; over the loopback, which nobody else reads, it is as before.
func TestNoPasswordLeavesReadable(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for _, plugin := range []string{"caching_sha2_password", "sha256_password"} {
		for _, guard := range []bool{true, false} {
			ours, theirs := net.Pipe()
			told := make(chan []byte, 4)
			go somebody(theirs, plugin, public, told)
			line := &Line{Reach: reach.Server{Network: "tcp", Address: "db1:3306"}}
			cfg, err := givenConfig("u:s3cr3tpw@tcp(db1:3306)/?tls=false")
			if err != nil {
				t.Fatal(err)
			}
			cfg.Logger = silent{}
			cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) {
				if guard {
					return &guarded{ours, &line.stopped}, nil
				}
				return ours, nil
			}
			_, err = open(t.Context(), cfg)
			encrypted := false
			for said := range told {
				encrypted = encrypted || len(said) == 256
			}
			if encrypted == guard {
				t.Errorf("%s, guarded %v: the password left in somebody's key: %v", plugin, guard, encrypted)
			}
			if got := line.Explain(err); guard != errors.Is(got, errReadable) || got == nil {
				t.Errorf("%s, guarded %v: %v", plugin, guard, got)
			}
		}
	}
}

// silent keeps the driver from printing.
type silent struct{}

// Print implements mysql.Logger.
func (silent) Print(...any) {}

func TestGuardLetsEverythingElsePass(t *testing.T) {
	var out bytes.Buffer
	g := &guarded{sink{&out}, new(atomic.Bool)}
	for _, p := range [][]byte{{1, 0, 0, 0, 1}, {1, 0, 0, 0, 2}, {0, 0, 0, 3}, {1, 0, 0, 3, 0}, {2, 0, 0, 3, 1, 2}, {0x17, 3, 3, 0, 1}, {1}} {
		if _, err := g.Write(p); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	if g.stopped.Load() {
		t.Error("stopped")
	}
}

type sink struct{ io.Writer }

func (sink) Read([]byte) (int, error)         { return 0, io.EOF }
func (sink) Close() error                     { return nil }
func (sink) LocalAddr() net.Addr              { return nil }
func (sink) RemoteAddr() net.Addr             { return nil }
func (sink) SetDeadline(time.Time) error      { return nil }
func (sink) SetReadDeadline(time.Time) error  { return nil }
func (sink) SetWriteDeadline(time.Time) error { return nil }

func TestGivenNamesAskForTLSOverANetwork(t *testing.T) {
	for dsn, want := range map[string]string{
		"u:p@tcp(db1:3306)/": "preferred", "u:p@tcp(db1:3306)/?tls=true": "true", "u:p@tcp(db1:3306)/?tls=false": "false",
		"u:p@tcp(127.0.0.1:3306)/": "", "u:p@unix(/s)/": "",
	} {
		cfg, err := givenConfig(dsn)
		if err != nil || cfg.TLSConfig != want || cfg.TLS != nil || cfg.AllowFallbackToPlaintext != (want == "preferred") {
			t.Errorf("%s: %q, %v", dsn, cfg.TLSConfig, err)
		}
		if _, err := mysql.NewConnector(cfg); err != nil {
			t.Errorf("%s: %v", dsn, err)
		}
	}
	for dsn, fine := range map[string]bool{
		"u:p@tcp(db1:3306)/?allowCleartextPasswords=true":                                        false,
		"u:p@tcp(db1:3306)/?allowCleartextPasswords=true&tls=preferred":                          false,
		"u:p@tcp(db1:3306)/?allowCleartextPasswords=true&tls=true&allowFallbackToPlaintext=true": true, // which is not heeded
		"u:p@unix(/s)/?allowCleartextPasswords=true":                                             true,
	} {
		if cfg, err := givenConfig(dsn); (err == nil) != fine || fine && cfg.AllowFallbackToPlaintext {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}

func TestURLsOfMySQL(t *testing.T) {
	for url, want := range map[string]string{
		"mysql://u:p%40w%2F@db1/x?tls=true":       "u:p@w/@tcp(db1:3306)/x",
		"mariadb://u@[::1]:3307/":                 "u@tcp([::1]:3307)/",
		"mysql://u:p@/?socket=/run/mysqld/s.sock": "u:p@unix(/run/mysqld/s.sock)/",
	} {
		dsn, err := OfURL(url)
		cfg, err2 := mysql.ParseDSN(dsn)
		if err != nil || err2 != nil {
			t.Errorf("%s: %v, %v", url, err, err2)
			continue
		}
		tls := cfg.TLSConfig
		cfg.TLSConfig, cfg.TLS = "", nil
		proof := mysql.NewConfig()
		proof.User, proof.Passwd, proof.Net, proof.Addr, proof.DBName = cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName
		got := proof.User
		if proof.Passwd != "" {
			got += ":" + proof.Passwd
		}
		if got += "@" + proof.Net + "(" + proof.Addr + ")/" + proof.DBName; got != want || (tls == "true") != bytes.Contains([]byte(url), []byte("tls")) {
			t.Errorf("%s: %s, TLS %q; want %s", url, got, tls, want)
		}
	}
	for _, url := range []string{"mysql://u:s3cr3t@", "mysql:///x", "mysql://root:s3cr3t@unix(/run/s.sock)/", "mysql://u:s3cr3t%zz@h/"} {
		if dsn, err := OfURL(url); err == nil || bytes.Contains([]byte(err.Error()), []byte("s3cr3t")) {
			t.Errorf("%s: %q, %v", url, dsn, err)
		}
	}
}
