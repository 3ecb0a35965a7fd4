package propose

import (
	"context"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// The spec of a replica is not carried out on its primary, nor the other way round. A server of which that is not known, and
// a new one that nobody follows yet, are taken.
func TestTheSpecOfAnotherServerIsRefused(t *testing.T) {
	primary, replica, unknown, fresh, standby := stack.NewThing("mysql", "1"), stack.NewThing("mysql", "2"), stack.NewThing("mysql", "3"), stack.NewThing("mysql", "4"), stack.NewThing("postgres", "5")
	primary.Set("is_replica", stack.Bool(false), "test")
	primary.Set("replicas", stack.Int(2), "test")
	replica.Set("is_replica", stack.Bool(true), "test")
	replica.Set("replicas", stack.Int(1), "test") // and passes on
	fresh.Set("is_replica", stack.Bool(false), "test")
	standby.Set("replication_role", stack.Text("standby"), "test")
	for _, c := range []struct {
		t       *stack.Thing
		want    spec.Role
		refused string
	}{
		{primary, spec.Primary, ""}, {primary, "", ""}, {primary, spec.Replica, "is the primary of 2 replicas"},
		{replica, spec.Replica, ""}, {replica, "", ""}, {replica, spec.Primary, "is a replica"},
		{standby, spec.Replica, ""}, {standby, spec.Primary, "is a replica"},
		{fresh, spec.Replica, ""}, {unknown, spec.Replica, ""}, {unknown, spec.Primary, ""},
	} {
		err := plays(c.t, c.want)
		if (err != nil) != (c.refused != "") || err != nil && (!strings.Contains(err.Error(), c.refused) || hint.Of(err) == "") {
			t.Errorf("%s as %q: %v", c.t.Ref, c.want, err)
		}
	}
}

// A server of another flavour is not taken for the one of the spec, and memory that is not there is not given.
func TestServerThatDoesNotFitIsRefused(t *testing.T) {
	var see stack.Observation
	db, unknown, host := see.New("mysql", "3306"), see.New("mysql", "3307"), see.New("memory", "host")
	db.Set("flavor", stack.Text("mariadb"), "test")
	db.Link("memory", host.Ref)
	host.Set("limit", stack.Int(8<<30), "test")
	var s stack.Stack
	s.Add("test", see)
	for _, c := range []struct {
		t       *stack.Thing
		want    spec.Server
		refused string
	}{
		{db, spec.Server{Product: "mariadb", Memory: 8 << 30}, ""}, {db, spec.Server{Product: "mariadb"}, ""},
		{db, spec.Server{Product: "mysql"}, "mysql:3306 is MariaDB, but the spec is for MySQL"},
		{db, spec.Server{Product: "mariadb", Memory: 24 << 30}, "server.memory is 24G, but only 8G are available to mysql:3306"},
		{unknown, spec.Server{Product: "mysql", Memory: 24 << 30}, ""},
	} {
		p := &planning{}
		p.Stack, p.Spec.Server = &s, c.want
		err := p.fits(s.Find(c.t.Ref))
		if (err != nil) != (c.refused != "") || err != nil && (!strings.Contains(err.Error(), c.refused) || hint.Of(err) == "") {
			t.Errorf("%s as %+v: %v", c.t.Ref, c.want, err)
		}
	}
}

// An owner as whom nobody can come in is told, once.
func TestOwnersThatAreNoUsersAreTold(t *testing.T) {
	users := []byte("root:x:0:0:root:/root:/bin/sh\nshop:x:1000:1000::/home/shop:/bin/sh\n")
	got := strangers(users, []spec.Database{{Name: "shop", Owner: "shop"}, {Name: "a", Owner: "hop"}, {Name: "b", Owner: "hop"}, {Name: "c", Owner: "root"}})
	if len(got) != 1 || !strings.Contains(got[0], "no user hop") {
		t.Error(got)
	}
}

// A unit that could not start the server again is refused before anything is done, and so is one of a systemd that does not answer:
// stopped for its move, the server would stay down.
func TestAUnitThatStartsNothingIsRefused(t *testing.T) {
	const asks = "systemctl show --property=CanStart,Transient,TriggeredBy -- db.service"
	for said, want := range map[string]string{"CanStart=yes\nTransient=no\n": "", "CanStart=no\nTransient=no\n": "could not be started again", "CanStart=yes\nTransient=yes\n": "could not be started again", "hangs": "look whether db.service can be started again"} {
		of := hosttest.Map{Outputs: map[string]string{asks: said}}
		if said == "hangs" {
			of = hosttest.Map{Errors: map[string]error{"run " + asks: context.DeadlineExceeded}}
		}
		p := &planning{d: asked{of: of}}
		p.Home.Unit = "db.service"
		err := p.commands(t.Context())
		if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(hint.Of(err), "--stop COMMAND")) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// asked is a machine that is only read.
type asked struct {
	host.Doer
	of hosttest.Map
}

func (a asked) Output(ctx context.Context, argv ...string) ([]byte, error) {
	return a.of.Output(ctx, argv...)
}
