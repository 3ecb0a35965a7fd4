package points

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	"plumb/internal/protect/drill"
	"plumb/test/sandbox"
)

// TestReadyClones makes clones of a point whose drill kept a recovered copy, and says after what time each
// answered. Its server had just been under load, and is idle meanwhile. PLUMB_CLONES says how many.
func TestReadyClones(t *testing.T) {
	sandbox.NeedTime(t, "twenty clones on each storage take some minutes: make test-real")
	n := count(t, "PLUMB_CLONES", 20, 5)
	everywhere(t, families, 4096, func(t *testing.T, b *bench) {
		b.prepareWork(t)
		load := b.press(t, 1, "", 0)
		time.Sleep(2 * time.Second)
		p, err := b.Take(t.Context(), b.plan(t), protect.TakeOptions{})
		must(t, err)
		load.stop()
		r, err := drill.Drill{Maker: b.maker, Ready: true, Memory: 512 << 20}.Run(t.Context(), p)
		must(t, err)
		if !r.OK {
			t.Fatal(r.Why)
		}
		p, err = b.Store.Get(t.Context(), b.Do, p.ID)
		must(t, err)
		if len(p.Ready) == 0 {
			t.Fatal("the drill kept no recovered copy")
		}
		m := clone.Maker{Maker: b.maker, Dir: filepath.Join(b.Books, "clones")}
		var after []time.Duration
		for i := range n {
			c, err := m.Make(t.Context(), p, clone.Options{Name: fmt.Sprintf("ready%d", i), Purpose: protect.ForUse, Port: sandbox.FreePort(t), Memory: 512 << 20})
			must(t, err)
			must(t, b.socket(c.Run, c.Port).Exec("SELECT COUNT(*) FROM plumbtest.t"))
			after = append(after, c.Ready)
			must(t, m.Drop(t.Context(), c.Name))
		}
		fmt.Printf("%s on %s: %d clones of a ready point answered after: %s\n", p.Server.Product, b.under, n, spread(after))
		must(t, b.Destroy(t.Context(), p.ID))
	})
}
