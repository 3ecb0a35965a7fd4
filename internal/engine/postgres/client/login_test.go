package client_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"testing"
	"time"

	"plumb/internal/engine/postgres/client"
	"plumb/internal/load"
	"plumb/test/certificate"
	"plumb/test/sandbox"
)

// TestPasswordAndTLS logs in over TCP with SCRAM, with and without TLS.
func TestPasswordAndTLS(t *testing.T) {
	sandbox.NeedLong(t, "starts a real server: run without -short")
	b := sandbox.ForTest(t, "")
	cert, key, trusted := certificateIn(t, b)
	password, err := b.Write("password", "se'c\\ret\n")
	ok(t, err)
	port := sandbox.FreePort(t)
	server, err := b.Postgres(sandbox.PostgresOptions{TCP: true, Port: port, Initdb: []string{"--auth-host=scram-sha-256", "--pwfile=" + password},
		Settings: fmt.Sprintf("ssl = on\nssl_cert_file = '%s'\nssl_key_file = '%s'\nshared_buffers = 16MB", cert, key)})
	sandbox.Need(t, err)
	c := client.Config{Network: "tcp", Address: fmt.Sprintf("127.0.0.1:%d", port), User: "postgres", Password: `se'c\ret`, Database: "postgres"}
	for want, config := range map[string]*tls.Config{"f": nil, "t": {RootCAs: trusted}} {
		c.TLS = config
		s := open(t, c)
		n := prepare(t, s, "SELECT ssl, repeat('x', ?::int) FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
		for _, length := range []int{0, 10, 100000} {
			ok(t, s.Run(n, []load.Arg{load.Int(int64(length))}))
			if !s.Next() || string(s.Bytes(0)) != want || len(s.Bytes(1)) != length {
				t.Errorf("TLS is %s, want %s; %d bytes of %d", s.Bytes(0), want, len(s.Bytes(1)), length)
			}
		}
		time.AfterFunc(20*time.Millisecond, func() { s.Close() })
		fails(t, s.Text([]byte("SELECT pg_sleep(30)")), load.Lost, "")
	}
	c.TLS = &tls.Config{} // which does not know the certificate
	_, err = client.New(c).Open(t.Context())
	fails(t, err, load.Fatal, "")
	t.Logf("%v; %s", err, hintOf(err))
	ok(t, server.Exec("ALTER SYSTEM SET ssl = off", "SELECT pg_reload_conf()"))
	c.TLS.InsecureSkipVerify = true
	for late := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // a reload is not at once
		s, opened := client.New(c).Open(t.Context())
		if err = opened; err != nil || time.Now().After(late) {
			break
		}
		s.Close()
	}
	fails(t, err, load.Fatal, "")
	t.Logf("%v; %s", err, hintOf(err))
	c.TLS, c.Password = nil, "wrong"
	_, err = client.New(c).Open(t.Context())
	fails(t, err, load.Fatal, "28P01")
	t.Logf("%v; %s", err, hintOf(err))
}

// certificateIn makes one for 127.0.0.1, in files that the server reads.
func certificateIn(t *testing.T, b *sandbox.Box) (cert, key string, trusted *x509.CertPool) {
	t.Helper()
	c, err := certificate.SelfSigned("127.0.0.1")
	ok(t, err)
	certText, keyText, err := c.PEM()
	ok(t, err)
	cert, err = b.Write("server.crt", certText)
	ok(t, err)
	key, err = b.Write("server.key", keyText)
	ok(t, err)
	ok(t, os.Chmod(key, 0o600))
	return cert, key, c.Pool()
}
