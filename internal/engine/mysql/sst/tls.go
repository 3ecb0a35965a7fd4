package sst

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"math/big"
	"net"
	"time"

	"plumb/internal/host/reach"
)

const handTime = 10 * time.Second // for a handshake and a proof

// identity makes a joiner's certificate, for one transfer, and its print.
func identity() (tls.Certificate, string, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	form := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "plumb"}, NotAfter: time.Now().AddDate(1, 0, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, form, form, public, private)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	sum := sha256.Sum256(raw)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private}, hex.EncodeToString(sum[:]), nil
}

// call connects to a joiner, and makes sure that it is the one whose address it is.
func call(ctx context.Context, a Address) (net.Conn, error) {
	want, err := hex.DecodeString(a.Print)
	if err != nil {
		return nil, err
	}
	// The chain proves nothing, as nobody signed it: the print does, which came through the cluster.
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		if sum := sha256.Sum256(s.PeerCertificates[0].Raw); !bytes.Equal(sum[:], want) {
			return errors.New("another than the joiner answers there")
		}
		return nil
	}}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: handTime}, Config: config}
	ctx, cancel := context.WithTimeout(ctx, 2*handTime)
	defer cancel()
	return d.DialContext(ctx, "tcp", net.JoinHostPort(a.Host, a.Port))
}

// listen opens the joiner's port on the address that it is known by, or on all where that is
// none of this host's, as behind a router.
func listen(host, port string, c tls.Certificate) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		ips, unknown := net.LookupIP(host)
		if unknown != nil || len(ips) == 0 || reach.IsLocal("tcp", net.JoinHostPort(ips[0].String(), port)) {
			return nil, err
		}
		if l, err = net.Listen("tcp", net.JoinHostPort("", port)); err != nil {
			return nil, err
		}
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c}}), nil
}
