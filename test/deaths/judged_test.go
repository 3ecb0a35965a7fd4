package deaths

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/drill"
)

// odd is an engine whose copies do not run as they should.
type odd struct {
	Engine
	program string // that is run in place of the server; "" for the server
	env     []string
	check   func() error
}

// Serve implements protect.Starter.
func (o odd) Serve(c protect.Copy) (host.Process, host.Signal, string, error) {
	p, stop, log, err := o.Engine.Serve(c)
	p.Env = o.env
	if o.program != "" {
		p.Argv = []string{o.program, "600"}
	}
	return p, stop, log, err
}

// Check implements protect.Starter.
func (o odd) Check(_ context.Context, _ load.Admin, _ protect.Copy, _ bool) ([]protect.Check, error) {
	if o.check == nil {
		return nil, nil
	}
	return nil, o.check()
}

// TestDrillsThatJudgeNothing: a drill whose server was never started leaves a proven point as it is. One that ended with a verdict
// notes it, also when it was interrupted then.
func TestDrillsThatJudgeNothing(t *testing.T) {
	s := OnBtrfs(t)
	h := s.Alive()
	must(t, s.drill(false)(t.Context(), h))
	point := func() protect.Point {
		t.Helper()
		p, err := h.Keeper.Store.Get(t.Context(), h.Keeper.Do, s.Point.ID)
		must(t, err)
		return p
	}
	try := func(ctx context.Context, o odd) error {
		t.Helper()
		o.Engine = Engine{s.Plan.Server}
		h.Keeper.Engines = []protect.Engine{o}
		_, err := drill.Drill{Maker: h.Copies, Memory: 256 << 20}.Run(ctx, point())
		return err
	}
	was := point()
	if err := try(t.Context(), odd{program: "/nonexistent/server"}); err == nil || !strings.Contains(err.Error(), "its server was not started") {
		t.Errorf("a program that is gone: %v", err)
	}
	if p := point(); p.Label != protect.Proven || !p.Drill.At.Equal(was.Drill.At) {
		t.Errorf("a program that is gone: the point is %s, by %+v", p.Label, p.Drill)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	must(t, try(ctx, odd{check: func() error { interrupt(); return nil }}))
	if p := point(); p.Label != protect.Proven || p.Drill.At.Equal(was.Drill.At) {
		t.Errorf("interrupted when it had passed: %s, %+v", p.Label, p.Drill)
	}
	must(t, try(t.Context(), odd{check: func() error { return errors.New("a table is damaged") }}))
	if p := point(); p.Label != protect.Crash || p.Drill.Why != "a table is damaged" {
		t.Errorf("damaged: %s, %+v", p.Label, p.Drill)
	}
}

// TestLibrariesOfTheServersUser: by where a server's user says that libraries are none is loaded into what has root's rights yet.
func TestLibrariesOfTheServersUser(t *testing.T) {
	s := OnBtrfs(t)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "libcap-ng.so.0"), []byte("of setpriv, which would load it"), 0o644))
	if sh(t, "LD_LIBRARY_PATH="+dir+" setpriv --version >/dev/null 2>&1 && echo works || :") != "" {
		t.Skip("setpriv loads no libcap-ng here, so no library shows whose word counts")
	}
	h := s.Alive()
	h.Keeper.Engines = []protect.Engine{odd{Engine: Engine{s.Plan.Server}, env: []string{"LD_LIBRARY_PATH=" + dir}}}
	must(t, s.drill(false)(t.Context(), h))
}
