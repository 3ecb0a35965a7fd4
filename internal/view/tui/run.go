package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"plumb/internal/catalog"
	"plumb/internal/series"
	"plumb/internal/view/page"
	view "plumb/internal/view/watch"
	"plumb/internal/watch"
)

// framesPerSecond is how often the screen may change: keys feel immediate, and
// an idle screen costs next to nothing.
const framesPerSecond = 15

// Answers are what the screen asks for.
type Answers struct {
	Ended func() error                        // why the feed ended
	Plan  func(server, id string) series.Plan // how a server carries out a statement; may take seconds
}

// Terminal is where it is shown.
type Terminal struct {
	In     io.Reader
	Out    io.Writer
	Screen page.Screen
}

// Run shows moments until a person quits or the context ends. A feed that is
// closed stays on the screen, with why it ended.
func Run(ctx context.Context, t Terminal, cat *catalog.Catalog, feed <-chan watch.Moment, a Answers) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := tea.NewProgram(newModel(t.Screen, 24, time.Now()).asking(a.Plan), tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Out), tea.WithFPS(framesPerSecond))
	go func() {
		for m := range feed {
			p.Send(boardMsg{view.MakeBoard(m, cat), time.Now()})
		}
		if ctx.Err() == nil {
			p.Send(endedMsg{ended(a.Ended())})
		}
	}()
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil || errors.Is(err, tea.ErrInterrupted) {
		return nil // somebody ended it, as one does
	}
	if err != nil {
		return fmt.Errorf("show on the terminal: %w", err)
	}
	return nil
}

func ended(err error) string {
	if err == nil {
		return "the sampler ended"
	}
	return view.Plain(err.Error())
}

// Lines are for a terminal that cannot be drawn on, and for a pipe: what limits
// each server, and only what is not as in the board before.
func Lines(before *view.Board, b view.Board, s page.Screen) string {
	var out strings.Builder
	for _, x := range b.Servers {
		if before != nil && same(*before, x) {
			continue
		}
		text := b.At.UTC().Format(time.RFC3339) + " " + x.Ref + ": " + x.Now
		if x.Detail != "" {
			text += " (" + x.Limit + ", " + x.Detail + ")"
		}
		out.WriteString(text + "\n")
	}
	if s.ASCII {
		return page.ASCII(out.String())
	}
	return out.String()
}

func same(b view.Board, x view.BoardServer) bool {
	for _, s := range b.Servers {
		if s.Ref == x.Ref {
			return s.Limit == x.Limit && s.Up == x.Up
		}
	}
	return false
}
