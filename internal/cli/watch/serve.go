package watch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/cli/watch/outlet"
	"plumb/internal/hint"
	"plumb/internal/host"
	view "plumb/internal/view/watch"
	"plumb/internal/view/web"
	"plumb/internal/watch"
)

// serveFlags are the flags of watch serve.
type serveFlags struct {
	shell.Source
	port      int
	tokenFile string
	powerful  bool
}

// usualPort is a port that no exporter and no database server is known to use.
const usualPort = 7583

// mostConnections is how many may be open at once: the streams, and as many again to
// fetch the page.
const mostConnections = 4 * web.MostStreams

func serveCommand(s *shell.Shell, from feed.Feed) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "show what limits each server in a browser on this machine",
		Long: `Serve watches this host and shows in a browser what watch shows on the terminal.
It listens only on 127.0.0.1 and ::1; from another machine, come through ssh:

  ssh -L 7583:127.0.0.1:7583 db1

The page asks for a token, which is printed once. It only reads.

` + shell.ReadExits,
		Example: `  plumb watch serve
  plumb watch serve --port 0 --token-file /run/plumb/token`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runServe(c.Context(), s, from, f) },
	}
	f.LiveFlags(c)
	powerfulFlag(c, &f.powerful)
	c.Flags().IntVar(&f.port, "port", usualPort, "listen on this port; 0: any free one")
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "write the token into a new file of mode 0600 instead of printing it; removed at the end")
	return c
}

func runServe(ctx context.Context, s *shell.Shell, from feed.Feed, f serveFlags) error {
	if f.port < 0 || f.port > 65535 {
		return hint.Usage(fmt.Sprintf("--port %d is not a port", f.port), "0 to 65535")
	}
	if err := f.Validate(); err != nil {
		return err
	}
	listeners, port, err := listen(ctx, f.port)
	if err != nil {
		return err
	}
	defer closeAll(listeners)
	token := rand.Text()
	where := fmt.Sprintf("http://127.0.0.1:%d/", port)
	if f.tokenFile == "" {
		fmt.Fprintf(s.Err, "plumb watch: %s\ntoken: %s\n", where, token)
	} else {
		kept, err := keepToken(f.tokenFile, token)
		if err != nil {
			return err
		}
		defer os.Remove(kept)
		fmt.Fprintf(s.Err, "plumb watch: %s\nthe token is in %s\n", where, shell.OneLine(kept))
	}
	p := strconv.Itoa(port)
	return serve(ctx, web.New(token, "127.0.0.1:"+p, "localhost:"+p, "[::1]:"+p), listeners, feed.Windows(s), f.powerful, func(ctx context.Context, sink watch.Sink) error { return from(ctx, f.Source, sink) })
}

// keepToken writes the token to a new file; an existing one could be a link, or open to another user. It returns the path without
// links, so that it is this file that is removed in the end: nobody else can put another one in its place.
func keepToken(name, token string) (kept string, err error) {
	dir, err := host.OnlyOurs(filepath.Dir(name))
	if err != nil {
		return "", fmt.Errorf("write the token to %s: %w", name, hint.Cause(err))
	}
	kept = filepath.Join(dir, filepath.Base(name))
	f, err := os.OpenFile(kept, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", hint.Usage("--token-file "+name+" is there already", "remove it if no plumb watch serve runs, or name another")
	}
	if err != nil {
		return "", fmt.Errorf("write the token to %s: %w", name, hint.Cause(err))
	}
	_, err = f.WriteString(token + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(kept) // nobody needs half a token
		return "", fmt.Errorf("write the token to %s: %w", name, hint.Cause(err))
	}
	return kept, nil
}

// freePorts is how many ports that are free on IPv4 are tried on IPv6 too.
const freePorts = 20

// listen opens a port on the loopback addresses; 0 is any that is free on both.
func listen(ctx context.Context, port int) (all []net.Listener, at int, err error) {
	for range freePorts {
		if all, at, err = listenOn(ctx, port); err == nil || port != 0 {
			break
		}
	}
	return all, at, err
}

// listenOn opens the port on the loopback addresses. If there is no IPv6, IPv4 is enough. It is not
// if another program has the port on IPv6: localhost can lead to that one, and with a page like ours it would be
// given the token.
func listenOn(ctx context.Context, port int) ([]net.Listener, int, error) {
	var c net.ListenConfig
	taken := func(err error) ([]net.Listener, int, error) {
		return nil, 0, hint.With(fmt.Errorf("listen on port %d of this machine: %w", port, hint.Cause(err)), "--port names another port; 0 takes one that is free")
	}
	first, err := c.Listen(ctx, "tcp4", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return taken(err)
	}
	port = first.Addr().(*net.TCPAddr).Port
	var open atomic.Int64
	all := []net.Listener{&limited{first, &open}}
	second, err := c.Listen(ctx, "tcp6", "[::1]:"+strconv.Itoa(port))
	if err == nil {
		return append(all, &limited{second, &open}), port, nil
	}
	if outlet.HasIPv6() {
		first.Close()
		return taken(err)
	}
	return all, port, nil
}

func closeAll(all []net.Listener) {
	for _, l := range all {
		l.Close()
	}
}

// serve answers requests until the context or the feed ends.
func serve(ctx context.Context, s *web.Server, listeners []net.Listener, cat *catalog.Catalog, powerful bool, from func(context.Context, watch.Sink) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sink := &shower{asking{powerful: powerful}, func(m watch.Moment) error { return s.Show(view.MakeBoard(m, cat)) }}
	s.Answer(sink.plan)
	server := s.HTTP()
	failed := make(chan error, len(listeners)+1)
	for _, l := range listeners {
		go func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve on %s: %w", l.Addr(), err)
			}
		}()
	}
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		failed <- from(ctx, sink)
	}()
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	s.End()
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	if server.Shutdown(late) != nil {
		server.Close()
	}
	<-fed
	return err
}

// limited accepts so many connections and closes the rest at once: a client that
// opens many must not use up our file descriptors.
type limited struct {
	net.Listener
	open *atomic.Int64
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= mostConnections {
			return &counted{Conn: c, open: l.open}, nil
		}
		l.open.Add(-1)
		c.Close()
	}
}

type counted struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}
