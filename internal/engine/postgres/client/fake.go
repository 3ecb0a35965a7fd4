package client

import (
	"net"

	"plumb/internal/engine/fake"
	"plumb/internal/host/reach"
)

// FakeOptions say how a fake server behaves.
type FakeOptions = fake.Options

// FakeServer speaks enough of PostgreSQL's protocol to measure what a client
// costs: it lets everybody in and gives canned answers. SELECT answers rows,
// INSERT, UPDATE and DELETE change one.
type FakeServer struct {
	*fake.Server
	canned *answers
}

// Fake starts a fake server in this process.
func Fake(o FakeOptions) (*FakeServer, error) {
	s, err := fake.Listen(o)
	if err != nil {
		return nil, err
	}
	f := &FakeServer{s, newAnswers(s.Row, s.Rows)}
	f.Serve(reach.Quiet, func(c net.Conn) {
		asker, _ := reach.NewAsker(c)
		(&fakeSession{f: f, conn: c, asker: asker, status: 'I', statements: map[string]*fakeStatement{}}).serve()
	})
	return f, nil
}

// Config gives what a client needs to connect.
func (f *FakeServer) Config() Config {
	a := f.Addr()
	return Config{Network: a.Network(), Address: a.String(), User: "fake", Database: "fake"}
}
