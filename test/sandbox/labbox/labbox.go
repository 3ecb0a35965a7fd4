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

	doer    *host.LiveDoer
	running host.Running
	stop    host.Signal
}

// Start finds, installs and starts a server below a directory of the box, and
// waits until it can be loaded. It is stopped when the box is closed.
func Start(ctx context.Context, b *sandbox.Box, name string, e lab.Engine, s experiment.Server, fetch bool) (*Server, error) {
	p := &Server{doer: host.NewLiveDoer(host.NewLive(host.LiveOptions{}))}
	b.OnClose(p.doer.Close)
	var err error
	if p.Program, err = e.Find(ctx, p.doer, s, fetch); err != nil {
		return nil, err
	}
	for dir, path := range map[string]*string{name: &p.Data, name + "-run": &p.Run} {
		if *path, err = b.Mkdir(dir); err != nil {
			return nil, err
		}
		if err := os.Chmod(*path, 0o700); err != nil {
			return nil, err
		}
	}
	if err := p.install(ctx, b, e.Install(p.Program, s, p.Data, p.Run)); err != nil {
		return nil, err
	}
	return p, p.Again(ctx, b, e, s)
}

// Again starts a server that was stopped, with other settings on the same data.
func (p *Server) Again(ctx context.Context, b *sandbox.Box, e lab.Engine, s experiment.Server) error {
	files, err := e.Files(p.Program, s, p.Data, p.Run)
	if err != nil {
		return err
	}
	for path, text := range files {
		relative, err := filepath.Rel(b.Dir, path)
		if err != nil {
			return err
		}
		if _, err := b.Write(relative, string(text)); err != nil {
			return err
		}
	}
	return p.serve(ctx, b, e, s)
}

func (p *Server) install(ctx context.Context, b *sandbox.Box, start lab.Start) error {
	start.UID, start.GID = user(b)
	start.Log = filepath.Join(p.Run, "install.log")
	running, err := p.doer.Start(ctx, start)
	if err != nil {
		return err
	}
	<-running.Done()
	if err := running.Err(); err != nil {
		return fmt.Errorf("install %s: %w%s", p.Program.Product, err, text(start.Log))
	}
	return nil
}

func (p *Server) serve(ctx context.Context, b *sandbox.Box, e lab.Engine, s experiment.Server) (err error) {
	start, stop, log := e.Serve(p.Program, s, p.Data, p.Run)
	start.UID, start.GID = user(b)
	start.Log = filepath.Join(p.Run, "output.log")
	if p.running, err = p.doer.Start(ctx, start); err != nil {
		return err
	}
	p.PID, p.Server, p.stop = p.running.PID(), e.Dial(p.Run), stop
	b.OnClose(p.Stop)
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if err = e.Ready(ctx, p.Run); err == nil {
			return e.Prepare(ctx, p.Run)
		}
		select {
		case <-p.running.Done():
			err = p.running.Err()
			p.running = nil
			return fmt.Errorf("%s did not start: %w%s%s", p.Program.Product, err, text(log), text(start.Log))
		default:
		}
	}
	return fmt.Errorf("%s did not start: %w%s%s", p.Program.Product, err, text(log), text(start.Log))
}

// Stop ends the server in an orderly way; a second call does nothing.
func (p *Server) Stop() error {
	if p.running == nil {
		return nil
	}
	running := p.running
	p.running = nil
	if err := running.Signal(p.stop); err != nil {
		return err
	}
	select {
	case <-running.Done():
		return running.Err()
	case <-time.After(time.Minute):
		return errors.Join(fmt.Errorf("process %d had to be killed", p.PID), running.Signal(host.Kill))
	}
}

// user is the one servers run as: with no rights to change it, ourselves.
func user(b *sandbox.Box) (uid, gid int) {
	if os.Geteuid() != 0 {
		return 0, 0
	}
	return b.User()
}

func text(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return "\n" + string(text)
}
