package check_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/test/captured"
)

func knowledge(t *testing.T, c check.Choice) check.Knowledge {
	t.Helper()
	k, err := check.Load(c, nil, func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func recorded(t *testing.T, name string) host.Reader {
	t.Helper()
	h, err := captured.Host(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// worst is a verb as small as one can be: what hurts most on a host. A verb
// takes a reader and the probes, runs a check, and gives a result of its own;
// how that looks is for view, and which flags it has for cli.
func worst(ctx context.Context, h host.Reader, k check.Knowledge) (rule.Harm, error) {
	s, err := check.Observe(ctx, h, k.Catalog, captured.Phases(k.Catalog), check.DefaultTimeout)
	if err != nil {
		return "", err
	}
	found := k.Judge(s).Advice.Findings
	if len(found) == 0 {
		return "", nil
	}
	return found[0].Rule.Harm, nil
}

func TestAVerbOnATape(t *testing.T) {
	harm, err := worst(t.Context(), recorded(t, "../../fixtures/mariadb-zfs-128K.tape.gz"), knowledge(t, check.Choice{}))
	if err != nil || harm != rule.Danger {
		t.Errorf("%q, %v", harm, err)
	}
}

func TestAVerbOnThisHost(t *testing.T) {
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	k := knowledge(t, check.Choice{Only: []string{"host", "kernel"}})
	s, err := check.Observe(t.Context(), host.NewCached(live), k.Catalog, captured.Phases(k.Catalog), check.DefaultTimeout)
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := os.Hostname(); s.Host() == nil || s.Host().Text("hostname") != name {
		t.Errorf("this host is %v, want %s", s.Host(), name)
	}
	r := k.Judge(s)
	if r.Judged == 0 || r.Judged >= len(k.Rules.Rules()) {
		t.Errorf("%d of %d rules were asked about the kernel", r.Judged, len(k.Rules.Rules()))
	}
}

// TestRulesOfProductsThatAreNotHereWereNotJudged: a report that counts them claims what nobody looked at.
func TestRulesOfProductsThatAreNotHereWereNotJudged(t *testing.T) {
	for only, judges := range map[string]bool{"mongo": false, "mysql": true} {
		k := knowledge(t, check.Choice{Only: []string{only}})
		s, err := check.Observe(t.Context(), recorded(t, "../../fixtures/mariadb-zfs-128K.tape.gz"), k.Catalog, captured.Phases(k.Catalog), check.DefaultTimeout)
		if err != nil {
			t.Fatal(err)
		}
		if n := k.Judge(s).Judged; (n > 0) != judges {
			t.Errorf("%d rules about %s judged a host with a MariaDB", n, only)
		}
	}
}

// TestServersThatWereNotSeenAreNamed: no advice for a server that nobody could log in to is no good news.
func TestServersThatWereNotSeenAreNamed(t *testing.T) {
	k := knowledge(t, check.Choice{})
	for tape, of := range map[string]map[string]string{
		"no-login":         {"": "mysql:3306 postgres:5432", "postgres": "postgres:5432", "mysql:3306": "mysql:3306", "kernel": ""},
		"mariadb-zfs-128K": {"": ""},
	} {
		s, err := check.Observe(t.Context(), recorded(t, "../../fixtures/"+tape+".tape.gz"), k.Catalog, captured.Phases(k.Catalog), check.DefaultTimeout)
		if err != nil {
			t.Fatal(err)
		}
		for only, want := range of {
			if got := strings.Join((check.Choice{Only: strings.Fields(only)}).Unseen(s), " "); got != want {
				t.Errorf("%s, --only %q: %q was not seen, want %q", tape, only, got, want)
			}
		}
	}
}

// slow is a probe that ends only with its context.
type slow struct{}

func (slow) Name() string       { return "slow" }
func (slow) Cost() observe.Cost { return observe.Cost{} }
func (slow) Collect(ctx context.Context, _ host.Reader, _ *stack.Stack) (stack.Observation, error) {
	<-ctx.Done()
	return stack.Observation{}, ctx.Err()
}

func TestDeadlineAndInterrupt(t *testing.T) {
	live := host.NewLive(host.LiveOptions{})
	defer live.Close()
	cat := knowledge(t, check.Choice{}).Catalog
	s, err := check.Observe(t.Context(), live, cat, [][]observe.Probe{{slow{}}}, 20*time.Millisecond)
	if err != nil || len(s.Gaps) == 0 || !strings.Contains(s.Gaps[len(s.Gaps)-1].Why, "deadline") {
		t.Errorf("after the deadline: %v, %v", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := check.Observe(ctx, live, cat, [][]observe.Probe{{slow{}}}, time.Minute); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("interrupted: %v", err)
	}
}

func TestChoicesAreValidated(t *testing.T) {
	for _, c := range []check.Choice{{Only: []string{"mysqll"}}, {Rules: []string{"zfs/recordsise"}}, {Skip: []string{"nothing/*"}}} {
		_, err := check.Load(c, nil, func(string, error) {})
		if hint.AsUsage(err) == nil || hint.Of(err) == "" {
			t.Errorf("%+v: %v, hint %q", c, err, hint.Of(err))
		}
	}
}

// Results come in the order of the names, whichever was judged first, and one
// that cannot be read costs no other.
func TestManyInOrder(t *testing.T) {
	k := knowledge(t, check.Choice{Only: []string{"kernel"}})
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint(i))
	}
	read := func(_ context.Context, name string) (*stack.Stack, error) {
		if name == "7" {
			return nil, io.ErrUnexpectedEOF
		}
		return &stack.Stack{}, nil
	}
	at := 0
	for one := range k.Each(t.Context(), names, read) {
		r := <-one
		if r.Name != names[at] || (r.Name == "7") != errors.Is(r.Err, io.ErrUnexpectedEOF) {
			t.Errorf("result %d is %s, %v", at, r.Name, r.Err)
		}
		at++
	}
	if at != len(names) {
		t.Errorf("%d results of %d", at, len(names))
	}
}
