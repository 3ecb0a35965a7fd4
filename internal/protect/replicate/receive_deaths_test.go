package replicate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
)

// far is a machine whose ssh reaches a Receiver in this process, which dies at one of its commands, and the line with it.
type far struct {
	*host.LiveDoer
	only string
	at   int // 0: never
	how  string
	n    int // commands so far
}

var errLine = errors.New("ssh: exit status 255")

func (f *far) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if argv[0] != "ssh" {
		return f.LiveDoer.Run(ctx, argv...)
	}
	var out bytes.Buffer
	err := f.there(ctx, argv, nil, &out)
	return out.Bytes(), err
}

func (f *far) Pipe(ctx context.Context, p host.Pipe) (host.Flow, error) {
	if p.Argv[0] != "ssh" {
		return f.LiveDoer.Pipe(ctx, p)
	}
	return host.Flow{}, f.there(ctx, p.Argv, p.In, io.Discard)
}

func (f *far) there(ctx context.Context, argv []string, in io.Reader, out io.Writer) error {
	f.n++
	dies := f.n == f.at
	if dies && f.how == hosttest.Before {
		return errLine
	}
	if dies && f.how == hosttest.Amid && in != nil {
		in = io.MultiReader(io.LimitReader(in, 64<<10), broken{})
	}
	err := Receiver{Do: f.LiveDoer, Only: f.only}.Receive(ctx, argv[len(argv)-1], in, out)
	if dies {
		return errLine
	}
	return err
}

// TestReceiveThatDies has the receiver of another host die before, amid and after each command that it is given.
func TestReceiveThatDies(t *testing.T) {
	w := twoPools(t)
	first, second := w.point(t, 500), w.point(t, 100)
	target := w.target()
	target.Host = "vault"
	send := func(p protect.Point, at int, how string) (int, error) {
		f := &far{LiveDoer: hosttest.LiveDoer(t), only: target.Dataset, at: at, how: how}
		r := w.replicator()
		r.Keeper = keeper(f, w.dir)
		p, err := r.Keeper.Store.Get(t.Context(), f, p.ID)
		must(t, err)
		_, err = r.Run(t.Context(), p, target, Options{})
		return f.n, err
	}
	bare := func() {
		sh(t, "zfs list "+target.Dataset+" 2>/dev/null >&2 || exit 0; for i in $(seq 100); do zfs destroy -r "+target.Dataset+" && exit; sleep .1; done; exit 1")
	}
	n, err := send(first, 0, "")
	must(t, err)
	every, deaths := 5, 0
	if os.Getenv("PLUMB_REAL") != "" {
		every = 1
	}
	for i := every / 2; i < 3*n && !t.Failed(); i += every {
		bare()
		at, how := i/3+1, []string{hosttest.Before, hosttest.Amid, hosttest.After}[i%3]
		for _, p := range []protect.Point{first, second} {
			commands, err := send(p, at, how)
			if err == nil && commands >= at { // an increment takes fewer commands than the first point
				t.Errorf("dead %s command %d of %d: nobody heard of it", how, at, commands)
			}
			if _, err := send(p, 0, ""); err != nil {
				t.Fatalf("dead %s command %d of %d, then: %v", how, at, n, err)
			}
			deaths++
		}
		w.same(t, second)
	}
	t.Logf("%d commands, %d deaths", n, deaths)
}
