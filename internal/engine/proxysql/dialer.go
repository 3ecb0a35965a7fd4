package proxysql

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"plumb/internal/host"
)

// Dialer reads the greeting of ProxySQL. It logs in to nothing.
type Dialer struct{}

// greetingTime bounds connecting and reading the greeting.
const greetingTime = 2 * time.Second

// Dial implements host.Dialer.
func (Dialer) Dial(ctx context.Context, t host.Target, _ func(string) ([]byte, error)) (host.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, greetingTime)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, t.Network, t.Address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", host.ErrDown, err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(greetingTime)); err != nil {
		return nil, err
	}
	packet, err := readPacket(conn)
	if err != nil {
		return nil, fmt.Errorf("%w: read the greeting: %w", host.ErrDown, err)
	}
	version, err := parseGreeting(packet)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", host.ErrDown, err)
	}
	return greeting(version), nil
}

// Reads implements host.Dialer.
func (Dialer) Reads(query string) bool { return query == greetingQuery }

// maxGreeting bounds the first packet, which has about a hundred bytes.
const maxGreeting = 4096

func readPacket(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(append(head[:3:3], 0))
	if size > maxGreeting {
		return nil, fmt.Errorf("a greeting of %d bytes", size)
	}
	packet := make([]byte, size)
	_, err := io.ReadFull(r, packet)
	return packet, err
}

// parseGreeting gives the server version in the first packet of the MySQL
// protocol, version 10.
func parseGreeting(packet []byte) (string, error) {
	if len(packet) < 2 || packet[0] != 10 {
		return "", errors.New("not a greeting of the MySQL protocol")
	}
	end := bytes.IndexByte(packet, 0)
	if end < 1 {
		return "", errors.New("a greeting without a version")
	}
	return string(packet[1:end]), nil
}

// greeting is a session that has been answered already.
type greeting string

// Query implements host.Session.
func (g greeting) Query(context.Context, string, host.QueryLimits) (host.Rows, error) {
	s := string(g)
	return host.Rows{Columns: []string{"version"}, Values: [][]*string{{&s}}}, nil
}

// Close implements host.Session.
func (greeting) Close() error { return nil }
