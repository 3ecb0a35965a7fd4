package outlet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
)

// Limits of a listener.
const (
	mostConnections = 64
	mostHeader      = 16 << 10
	headTime        = 5 * time.Second  // to send the head of a request
	answerTime      = 10 * time.Second // for a client to read the answer
)

// Listening says where to listen, and who may read.
type Listening struct {
	Address   string // host:port
	Cert, Key string // files; "" for no TLS
	ClientCA  string // file of authorities that vouch for clients; "" for none
	Token     string // file; "" for none
}

// Listener is a server that listens, but does not answer before Serve.
type Listener struct {
	all   []net.Listener // one for each address of the name that was given
	guard guard
	here  bool // only this machine can reach it
}

// Addr is the first address the listener listens on.
func (l *Listener) Addr() net.Addr { return l.all[0].Addr() }

// Close stops listening.
func (l *Listener) Close() error {
	var err error
	for _, one := range l.all {
		err = errors.Join(err, one.Close())
	}
	return err
}

// Listen starts to listen. If other machines can reach the address, it is an error
// to do so without TLS, or without a token or certificates of clients.
func Listen(l Listening) (*Listener, error) {
	host, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		return nil, hint.Usage(fmt.Sprintf("--listen %s is not an address", l.Address), "give host:port, such as 127.0.0.1:9931")
	}
	hosts, here, err := addresses(host)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", l.Address, err)
	}
	if !here && (l.Cert == "" || l.Token == "" && l.ClientCA == "") {
		return nil, hint.Usage(fmt.Sprintf("--listen %s can be reached from other machines, and needs TLS and a way to know who asks", l.Address),
			"--tls-cert and --tls-key, and --token FILE or --client-ca FILE; or listen on 127.0.0.1")
	}
	config, err := l.tls()
	if err != nil {
		return nil, err
	}
	out := &Listener{here: here, guard: guard{here: here, name: host}}
	if l.Token != "" {
		if out.guard.token, err = tokenOf("--token", l.Token); err != nil {
			return nil, err
		}
	}
	if out.all, err = open(hosts, port); err != nil {
		return nil, hint.With(fmt.Errorf("listen on %s: %w", l.Address, hint.Cause(err)), "--listen takes another address")
	}
	free := make(chan struct{}, mostConnections)
	for i, one := range out.all {
		out.all[i] = limited{one, free}
		if config != nil {
			out.all[i] = tls.NewListener(out.all[i], config)
		}
	}
	return out, nil
}

// open listens on all of some addresses.
func open(hosts []string, port string) (all []net.Listener, err error) {
	for _, host := range hosts {
		one, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			return nil, errors.Join(err, (&Listener{all: all}).Close())
		}
		all = append(all, one)
		if _, took, err := net.SplitHostPort(one.Addr().String()); err == nil {
			port = took // for port 0, use the same one on the next address
		}
	}
	return all, nil
}

// Here tells whether only this machine can reach the listener.
func (l *Listener) Here() bool { return l.here }

// loopback tells whether all addresses of a name are loopback addresses.
func loopback(host string) (bool, error) {
	if strings.EqualFold(host, "localhost") {
		return true, nil // without looking anything up
	}
	_, here, err := addresses(host)
	return here, err
}

// addresses returns where to listen for a name, and whether that is on loopback
// addresses alone. In that case it is all of them, as a client that asks for localhost may use any.
func addresses(host string) (all []string, here bool, err error) {
	if host == "" {
		return []string{""}, false, nil
	}
	if strings.EqualFold(host, "localhost") {
		if all = []string{"127.0.0.1"}; HasIPv6() {
			all = append(all, "::1")
		}
		return all, true, nil
	}
	if ip := net.ParseIP(host); ip != nil {
		return []string{host}, ip.IsLoopback(), nil
	}
	found, err := net.LookupIP(host)
	if err != nil || len(found) == 0 {
		return nil, false, errors.Join(fmt.Errorf("look up %s", host), err)
	}
	for _, ip := range found {
		if !ip.IsLoopback() {
			return []string{host}, false, nil
		}
		if !slices.Contains(all, ip.String()) {
			all = append(all, ip.String())
		}
	}
	return all, true, nil
}

// HasIPv6 tells whether this machine has ::1.
func HasIPv6() bool {
	l, err := net.Listen("tcp6", "[::1]:0")
	return err == nil && l.Close() == nil
}

func (l Listening) tls() (*tls.Config, error) {
	if l.Cert == "" && l.Key == "" {
		if l.ClientCA != "" {
			return nil, hint.Usage("--client-ca needs TLS", "--tls-cert and --tls-key")
		}
		return nil, nil
	}
	if _, err := keyPair(l.Cert, l.Key); err != nil {
		return nil, err
	}
	r := &renewed{cert: l.Cert, key: l.Key}
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: r.get}
	if l.ClientCA != "" {
		pool, err := shell.Authorities("--client-ca", l.ClientCA)
		if err != nil {
			return nil, err
		}
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, pool
	}
	return c, nil
}

// renewed is a certificate that is read again when its file was replaced.
type renewed struct {
	cert, key string
	mu        sync.Mutex
	pair      *tls.Certificate
	of        time.Time
}

func (r *renewed) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	st, err := os.Stat(r.cert)
	if err == nil && (r.pair == nil || !st.ModTime().Equal(r.of)) {
		var pair *tls.Certificate
		if pair, err = keyPair(r.cert, r.key); err == nil {
			r.pair, r.of = pair, st.ModTime()
		}
	}
	if r.pair != nil { // the files may be half replaced, and the old certificate is still good
		return r.pair, nil
	}
	return nil, err
}

// limited accepts only so many connections at a time; others wait in the kernel.
type limited struct {
	net.Listener
	free chan struct{}
}

// Accept implements net.Listener.
func (l limited) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: c, free: sync.OnceFunc(func() { <-l.free })}, nil
}

type counted struct {
	net.Conn
	free func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// Serve answers requests for /metrics until the context ends. A connection is closed after one request, as idle clients could
// occupy all connections otherwise.
func (l *Listener) Serve(ctx context.Context, metrics http.Handler) error {
	s := &http.Server{Handler: l.guard.before(metrics), ReadHeaderTimeout: headTime, ReadTimeout: headTime, WriteTimeout: answerTime,
		MaxHeaderBytes: mostHeader, ErrorLog: log.New(io.Discard, "", 0)} // mistakes of strangers must not fill a log
	s.SetKeepAlivesEnabled(false)
	done := make(chan error, len(l.all))
	for _, one := range l.all {
		go func() { done <- fmt.Errorf("listen on %s: %w", one.Addr(), s.Serve(one)) }()
	}
	left := len(l.all)
	var ended error
	select {
	case ended = <-done:
		left--
		s.Close()
	case <-ctx.Done():
		ended = s.Close()
	}
	for range left {
		<-done
	}
	return ended
}
