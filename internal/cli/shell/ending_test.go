package shell

import (
	"os"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// TestOutlive: a command that makes things ends when its output breaks, and not when the
// connection to a server does, which the kernel tells by the same signal.
func TestOutlive(t *testing.T) {
	c := &cobra.Command{}
	c.SetContext(t.Context())
	was := os.Stdout
	defer func() { os.Stdout = was }()
	reader, out := pipe(t)
	os.Stdout = out
	Outlive(c)
	server, connection := pipe(t)
	server.Close()
	for range 3 {
		if _, err := connection.Write([]byte("x")); err == nil {
			t.Fatal("it is not broken")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := c.Context().Err(); err != nil {
		t.Fatalf("a broken connection ended the command: %v", err)
	}
	reader.Close()
	_, _ = out.Write([]byte("x"))
	select {
	case <-c.Context().Done():
	case <-time.After(30 * time.Second):
		t.Error("it goes on, and nobody reads what it says")
	}
}
