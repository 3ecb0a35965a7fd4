package experiment

import (
	"fmt"
	"strings"
	"testing"
)

func arms(n int) (x Experiment) {
	for i := range n {
		x.Arms = append(x.Arms, Arm{Name: string(rune('a' + i))})
	}
	return x
}

func orderOf(x Experiment, block int) string {
	var b strings.Builder
	for _, t := range Order(x, block) {
		b.WriteString(t.Arm)
	}
	return b.String()
}

// A ledger that was begun with one Plumb must be gone on with by the next.
func TestOrderStaysTheSameForEver(t *testing.T) {
	x := arms(5)
	x.Seed, x.Most = 7, 3
	var got []string
	for _, trial := range All(x) {
		got = append(got, fmt.Sprintf("%d.%d%s:%d", trial.Block, trial.Position, trial.Arm, trial.Seed))
	}
	const want = "1.1e:6527130795836411 1.2b:6527130795836411 1.3d:6527130795836411 1.4a:6527130795836411 1.5c:6527130795836411 " +
		"2.1b:6589655456698447 2.2a:6589655456698447 2.3c:6589655456698447 2.4e:6589655456698447 2.5d:6589655456698447 " +
		"3.1a:506600034205996 3.2c:506600034205996 3.3b:506600034205996 3.4e:506600034205996 3.5d:506600034205996"
	if all := strings.Join(got, " "); all != want {
		t.Errorf("got\n%s", all)
	}
}

// Over many blocks every order comes equally often: 6 of 3 arms, 6000 blocks.
func TestOrderIsFair(t *testing.T) {
	x := arms(3)
	counts := map[string]int{}
	for block := range 6000 {
		counts[orderOf(x, block+1)]++
	}
	chi := 0.0
	for _, n := range counts {
		chi += float64((n-1000)*(n-1000)) / 1000
	}
	if len(counts) != 6 || chi > 20.5 { // 0.1 % of fair ones, five degrees of freedom
		t.Errorf("chi squared %.1f of %v", chi, counts)
	}
}

// Within a block the arms get the same operations; other blocks get others.
func TestOrderGivesABlockOneSeed(t *testing.T) {
	x, seen := arms(3), map[uint64]bool{}
	for block := range 1000 {
		trials := Order(x, block+1)
		for _, trial := range trials {
			if trial.Seed != trials[0].Seed || trial.Seed >= 1<<53 {
				t.Fatalf("%+v", trials)
			}
		}
		seen[trials[0].Seed] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d seeds of 1000 blocks", len(seen))
	}
}

func TestLayoutsShareWhatIsLoaded(t *testing.T) {
	x := parsed(t, syncBinlog)
	got := Layouts(x)
	if len(got) != 2 || strings.Join(got[0].Arms, "; ") != "ext4, 0; ext4, 1; ext4, 1000" || strings.Join(got[1].Arms, "; ") != "xfs, 0; xfs, 1" {
		t.Errorf("%+v", got)
	}
	base := x.Arms[0].Setup
	key := func(change func(*Setup)) string {
		u, s := base, *base.Server
		u.Server = &s
		change(&u)
		return LayoutKey(u)
	}
	for name, same := range map[string]func(*Setup){
		"threads": func(u *Setup) { u.Load.Threads = 99 }, "script": func(u *Setup) { u.Load.Script = "oltp_read_only" },
		"memory": func(u *Setup) { u.Server.Memory = 1 }, "settings": func(u *Setup) { u.Server.Settings = nil }, "host": func(u *Setup) { u.Host = map[string]string{"a": "b"} },
	} {
		if key(same) != LayoutKey(base) {
			t.Errorf("%s makes another layout", name)
		}
	}
	for name, other := range map[string]func(*Setup){
		"rows": func(u *Setup) { u.Load.Rows++ }, "mount": func(u *Setup) { u.Volume.Mount = "noatime" }, "profile": func(u *Setup) { u.Volume.Profile = "gp3" },
		"version": func(u *Setup) { u.Server.Version = "11.4" }, "create": func(u *Setup) { u.Server.Create = map[string]string{"innodb_page_size": "8K"} },
	} {
		if key(other) == LayoutKey(base) {
			t.Errorf("%s shares a layout", name)
		}
	}
}
