// Command rogue is a server of somebody else: it speaks as much of MySQL's or
// PostgreSQL's protocol as it takes to ask a client for its password in clear,
// and writes what it is told to a file. Tests run it as a user who is nobody,
// under the name of a real server.
//
//	mysqld --socket=PATH --told=FILE [--plugin=caching_sha2_password] [--port=N]
//	postgres --socket=PATH --told=FILE [--port=N]
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// rogue is one such server.
type rogue struct {
	plugin string
	mu     sync.Mutex
	told   *os.File
}

func main() {
	socket := flag.String("socket", "", "listen on this `PATH`")
	port := flag.String("port", "", "listen on this `PORT` of 127.0.0.1 too")
	told := flag.String("told", "", "write what clients tell to this `FILE`")
	plugin := flag.String("plugin", "caching_sha2_password", "the way to log in that a MySQL asks for")
	flag.String("datadir", "", "taken and not used")
	flag.String("D", "", "taken and not used")
	flag.Parse()
	if err := serve(*socket, *port, *told, *plugin); err != nil {
		fmt.Fprintln(os.Stderr, "rogue:", err)
		os.Exit(1)
	}
}

func serve(socket, port, told, plugin string) error {
	f, err := os.OpenFile(told, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	r := &rogue{plugin: plugin, told: f}
	talk := r.mysql
	if strings.HasPrefix(filepath.Base(os.Args[0]), "postgres") {
		talk = r.postgres
	}
	addresses := [][2]string{}
	if socket != "" {
		addresses = append(addresses, [2]string{"unix", socket})
	}
	if port != "" {
		addresses = append(addresses, [2]string{"tcp", "127.0.0.1:" + port})
	}
	ended := make(chan error)
	for _, a := range addresses {
		l, err := net.Listen(a[0], a[1])
		if err != nil {
			return err
		}
		if a[0] == "unix" {
			if err := os.Chmod(a[1], 0o777); err != nil {
				return err
			}
		}
		go func() { ended <- accept(l, talk) }()
	}
	return <-ended
}

func accept(l net.Listener, talk func(net.Conn) error) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			_ = talk(c) // how a client leaves is its own affair
		}()
	}
}

// note writes down what a client said. A line is written for each connection,
// so that a test sees that there was one.
func (r *rogue) note(what string, said []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.told, "%s %q\n", what, said)
}

// mysql asks for a login, and then for the password itself.
func (r *rogue) mysql(c net.Conn) error {
	r.note("connected", nil)
	const challenge = "abcdefghijklmnopqrst"
	greeting := append([]byte{10}, "8.0.36\x00\x01\x00\x00\x00"...)
	greeting = append(greeting, challenge[:8]...)
	// Protocol 4.1, secure connection, plugins: 0x000f8202 without TLS.
	greeting = append(greeting, 0, 0x02, 0x82, 0x2d, 2, 0, 0x0f, 0x00, byte(len(challenge)+1))
	greeting = append(greeting, make([]byte, 10)...)
	greeting = append(greeting, challenge[8:]...)
	greeting = append(append(greeting, 0), r.plugin+"\x00"...)
	if err := packet(c, 0, greeting); err != nil {
		return err
	}
	answer, err := read(c)
	if err != nil {
		return err
	}
	r.note("login", answer)
	if r.plugin == "caching_sha2_password" {
		if err := packet(c, 2, []byte{1, 4}); err != nil { // the whole password, please
			return err
		}
		answer, err := read(c)
		if err != nil {
			return err
		}
		r.note("password", answer)
	}
	return packet(c, 4, append([]byte{0xff, 0x15, 0x04}, "#28000Access denied"...))
}

// postgres asks for the password in clear.
func (r *rogue) postgres(c net.Conn) error {
	r.note("connected", nil)
	for {
		var head [8]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return err
		}
		rest := make([]byte, min(binary.BigEndian.Uint32(head[:]), 4096)-8)
		if _, err := io.ReadFull(c, rest); err != nil {
			return err
		}
		if code := binary.BigEndian.Uint32(head[4:]); code != 80877103 { // it asks for no TLS
			r.note("login", rest)
			break
		}
		if _, err := c.Write([]byte("N")); err != nil {
			return err
		}
	}
	if _, err := c.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3}); err != nil { // AuthenticationCleartextPassword
		return err
	}
	answer := make([]byte, 4096)
	n, err := c.Read(answer)
	if err != nil {
		return err
	}
	r.note("password", answer[:n])
	fields := "SFATAL\x00VFATAL\x00C28P01\x00Mpassword authentication failed\x00\x00"
	_, err = c.Write(append(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(4+len(fields))), fields...))
	return err
}

// packet writes one packet of MySQL's protocol.
func packet(c net.Conn, sequence byte, body []byte) error {
	n := len(body)
	_, err := c.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), sequence}, body...))
	return err
}

// read reads one packet of MySQL's protocol.
func read(c net.Conn) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	body := make([]byte, min(int(head[0])|int(head[1])<<8|int(head[2])<<16, 1<<16))
	_, err := io.ReadFull(c, body)
	return body, err
}
