package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	fixview "plumb/internal/view/fix"
	"plumb/internal/view/page"
)

// do applies the draft, looks again, and says what came of each step.
func (x *fixing) do(ctx context.Context) error {
	out, err := x.keeper.Apply(ctx, x.draft, x.options())
	if out.Number == 0 && err != nil {
		return err
	}
	after := x.lookAgain(ctx, out)
	if x.json {
		text, jsonErr := page.JSON(fixview.Document(x.draft, out, after, x.know.Catalog))
		if jsonErr != nil {
			return errors.Join(err, jsonErr)
		}
		fmt.Fprintf(x.app.out, "%s", text)
	} else {
		fmt.Fprint(x.app.out, fixview.Outcome(out, after, x.deadline(), x.know.Catalog, screen(x.app.out)))
	}
	if err != nil {
		return hint.With(fmt.Errorf("change %d: %w", out.Number, err), "the steps before it are done; plumb undo takes them back, plumb history "+strconv.Itoa(out.Number)+" shows each")
	}
	return x.leftOut()
}

func (x *fixing) options() change.ApplyOptions {
	o := change.ApplyOptions{Restart: x.restart,
		Begin: change.Begin{Host: x.hostname(), User: x.live.About().User}}
	if x.try > 0 {
		o.Begin.Try = time.Now().Add(x.try).UTC().Truncate(time.Second)
		o.Armed = x.arm
	}
	if isTerminal(x.app.err) && !x.json {
		o.Doing = func(i int, a change.Act, done bool) {
			if !done {
				rewrite(x.app.err, fmt.Sprintf("%d/%d %s", i+1, len(x.draft.Steps), a.Place()))
			} else {
				rewrite(x.app.err, "")
			}
		}
	}
	return o
}

func (x *fixing) deadline() time.Duration { return x.try }

// arm sets the dead man's switch before the first effect: a timer of systemd,
// or a process that does not end with this one.
func (x *fixing) arm(c *change.Change) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := []string{self, "undo", strconv.Itoa(c.Number), "--unless-confirmed", "--yes"}
	if x.state != "" {
		dir, err := filepath.Abs(x.state)
		if err != nil {
			return err
		}
		argv = append(argv, "--state", dir)
	}
	if _, err := os.Stat("/run/systemd/system"); err == nil && x.dsn == "" && x.live.About().Root {
		unit := fmt.Sprintf("plumb-undo-%d", c.Number)
		_, err := x.hands.Run(context.Background(), append([]string{"systemd-run", "--unit=" + unit, "--collect",
			"--on-active=" + strconv.Itoa(int(x.try.Seconds())) + "s", "--timer-property=AccuracySec=1s"}, argv...)...)
		return err
	}
	var env []string
	if x.dsn != "" {
		env = []string{fromEnvironment + "=" + x.dsn}
	}
	_, err = x.hands.Detach(env, argv...)
	return err
}

// lookAgain reads the host anew and says, for each step that was done,
// whether it took.
func (x *fixing) lookAgain(ctx context.Context, out change.Outcome) []fixview.After {
	if x.image != "" {
		return nil
	}
	live, g, err := openLive(x.source) // sessions of before a restart are broken
	if err != nil {
		return nil
	}
	defer live.Close()
	s, err := lookInTime(ctx, host.NewOnce(live), x.know.Catalog, g, x.timeout)
	if err != nil {
		return nil
	}
	report := x.know.Judge(s, false)
	var after []fixview.After
	for _, step := range out.Steps {
		a := fixview.After{Knob: step.Knob}
		if !step.Done {
			after = append(after, a)
			continue
		}
		if t := s.Find(step.Knob.Of); t != nil {
			a.Fact, a.Known = t.Facts[step.Knob.Name]
		}
		for _, f := range report.Advice.Findings {
			for _, c := range f.Cases {
				for _, r := range c.Remedies {
					if r.IsStep() && r.Step.Knob == step.Knob && slices.Contains(step.Why, f.Rule.ID) {
						a.Fires = append(a.Fires, f.Rule.ID)
					}
				}
			}
		}
		after = append(after, a)
	}
	return after
}
