// Package labbox starts the lab's private servers in a sandbox, as the lab
// does it, so that engines can be tested without one.
package labbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/test/sandbox"
)

// Server is a server that was set up as the lab does it.
type Server struct {
	load.Server
	Program lab.Program
	Run     string
	Data    string
	PID     int
}

// Start finds, installs and starts a server below a directory of the box, and
// waits until it can be loaded.
func Start(ctx context.Context, b *sandbox.Box, name string, e lab.Engine, s experiment.Server, fetch bool) (*Server, error) {
	hands := host.NewHands(host.NewLive(host.LiveOptions{}))
	defer hands.Close()
	program, err := e.Find(ctx, hands, s, fetch)
	if err != nil {
		return nil, err
	}
	p := &Server{Program: program}
	for dir, path := range map[string]*string{name: &p.Data, name + "-run": &p.Run} {
		if *path, err = b.Mkdir(dir); err != nil {
			return nil, err
		}
		if err := os.Chmod(*path, 0o700); err != nil {
			return nil, err
		}
	}
	start := e.Install(program, s, p.Data, p.Run)
	if err := b.Do(start.Env, start.Argv...); err != nil {
		return nil, err
	}
	files, err := e.Files(program, s, p.Data, p.Run)
	if err != nil {
		return nil, err
	}
	for path, text := range files {
		relative, err := filepath.Rel(b.Dir, path)
		if err != nil {
			return nil, err
		}
		if _, err := b.Write(relative, string(text)); err != nil {
			return nil, err
		}
	}
	return p, p.serve(ctx, b, e, s)
}

func (p *Server) serve(ctx context.Context, b *sandbox.Box, e lab.Engine, s experiment.Server) error {
	start, signal, log := e.Serve(p.Program, s, p.Data, p.Run)
	var out string
	var err error
	if p.PID, out, err = b.Start(signal, start.Env, start.Argv...); err != nil {
		return err
	}
	p.Server = e.Dial(p.Run)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for err = e.Ready(ctx, p.Run); err != nil && ctx.Err() == nil; err = e.Ready(ctx, p.Run) {
		if _, gone := os.Stat(fmt.Sprintf("/proc/%d/cmdline", p.PID)); errors.Is(gone, os.ErrNotExist) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err == nil {
		return e.Prepare(ctx, p.Run)
	}
	text, _ := os.ReadFile(log) // one of the two says why
	more, _ := os.ReadFile(out)
	return fmt.Errorf("%s did not come up: %w\n%s%s", p.Program.Product, err, text, more)
}
