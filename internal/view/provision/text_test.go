package provision

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/advise"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/provision"
	"plumb/internal/provision/predict"
	"plumb/internal/provision/propose"
	"plumb/internal/provision/rehearsal"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

var server = stack.Ref{Kind: "mysql", Name: "3306"}

func finding(id string, harm rule.Harm, title string) advise.Finding {
	return advise.Finding{Rule: &rule.Rule{ID: id, Harm: harm}, Cases: []advise.Case{{Title: title}}}
}

// sample is a plan of which the pool is made, with what cannot be taken away.
func sample() propose.Proposal {
	dataset := func(name string, options ...string) change.Act {
		return change.Act{Make: &change.Make{Thing: change.Thing{Dataset: name}, Do: []change.Op{{Argv: append([]string{"zfs", "create"}, append(options, name)...)}}}}
	}
	set := change.Prepared{Step: change.Step{Knob: stack.Knob{Of: server, Name: "sync_binlog"}, To: stack.Int(1), Because: "sync_binlog is 0", Why: []string{"mysql/sync-binlog-off"}},
		Recipe: change.Recipe{Waits: "a restart of mariadb.service", Acts: []change.Act{
			{Switch: &change.Switch{On: "mysql:3306 @@GLOBAL.sync_binlog", After: "1", Do: []change.Op{{Statement: "SET GLOBAL sync_binlog = 1"}}}},
			{Edit: &change.Edit{File: "/etc/mysql/zz-plumb.cnf", Form: edit.OptionFile, Key: "mysqld/sync_binlog", Value: "1"}}}}}
	return propose.Proposal{Of: "tank/mariadb", Home: provision.Home{Server: server, Version: "10.11.14", Data: "/var/lib/mysql"},
		Plan: provision.Plan{Stages: []provision.Stage{
			{Name: "pool tank", Why: "mirror", Done: true},
			{Name: "datasets of mysql:3306", Why: "one for each role, below tank/mariadb", Lasting: []string{"a special vdev beside raidz cannot be removed"}, Notes: []string{"the filesystem knows no immutable directories"},
				Steps: []change.Prepared{provision.Step(server, "datasets", []change.Act{dataset("tank/mariadb", "-o", "compression=lz4"), dataset("tank/mariadb/data", "-o", "recordsize=16384")})}},
			{Name: "settings", Why: "the advice of the rules", Steps: []change.Prepared{set}},
		}},
		Refused: []change.Refused{{Step: change.Step{Knob: stack.Knob{Of: server, Name: "innodb_page_size"}, To: stack.Int(16384)}, Reason: "it is fixed when the thing is made", Hint: "make a new one and move the data"}},
		Prediction: predict.Prediction{Why: map[string][]string{"tank/mariadb/data recordsize": {"cross/zfs-recordsize-innodb"}},
			Left:  []advise.Finding{finding("zfs/fuse", rule.Slow, "the pools are served by zfs-fuse")},
			Notes: []advise.Finding{finding("zfs/pool-on-files", rule.Note, "tank lies in files")},
			Waits: []predict.Wait{{Rule: "mysql/redo-too-small", About: []string{"redo", "statements"}}}}}
}

func TestPages(t *testing.T) {
	s := page.Screen{Width: 100}
	viewtest.Golden(t, "plan.txt", Plan(sample(), s))
	viewtest.Golden(t, "nothing.txt", Plan(propose.Proposal{Of: "tank/mariadb", Home: provision.Home{Server: server, Version: "10.11.14"}}, s))
	done := propose.Result{Acts: 5, Stages: []propose.Carried{{Name: "datasets of mysql:3306", Change: 4, Acts: 3, Took: 1500 * time.Millisecond}, {Name: "settings", Change: 5, Acts: 2, Took: 20 * time.Millisecond}},
		Notes: []advise.Finding{finding("zfs/pool-on-files", rule.Note, "tank lies in files")}}
	viewtest.Golden(t, "outcome.txt", Outcome(done, s))
	viewtest.Golden(t, "again.txt", Outcome(propose.Result{}, s))
	tried := func(tables int) string {
		return Rehearsed(product.Release{Flavor: product.MariaDB, Version: "11.8"}, protect.Point{ID: "20261130T070000Z-4f3a"}, rehearsal.Result{Tables: tables, Took: 12 * time.Second, Upgrade: 5 * time.Second}, s)
	}
	viewtest.Golden(t, "rehearsed.txt", tried(1)+tried(90))
	viewtest.Golden(t, "away.txt", Away(changes(), false, s)+Away(changes(), true, s)+Away(nil, true, s)+Torn(changes()[1:], s))
}

func changes() []*change.Change {
	made := &change.Change{Number: 4, Acts: []change.Recorded{{Act: change.Act{Make: &change.Make{Thing: change.Thing{Dataset: "tank/mariadb"}}}}}}
	made.Steps = []change.Step{provision.Step(server, "datasets of mysql:3306", nil).Step}
	set := &change.Change{Number: 5, Acts: []change.Recorded{{Act: change.Act{Edit: &change.Edit{File: "/etc/my.cnf", Key: "mysqld/sync_binlog", Value: "1"}}}}}
	set.Steps = []change.Step{{Knob: stack.Knob{Of: server, Name: "sync_binlog"}, To: stack.Int(1)}}
	return []*change.Change{made, set}
}

// Each document fits the schema that is published.
func TestDocuments(t *testing.T) {
	for _, doc := range []ProvisionJSON{PlanDocument(sample()), Document(propose.Result{Last: sample()}), AwayDocument("tank/mariadb", changes(), true)} {
		viewtest.FitsSchema(t, schema.Of("provision"), doc)
		if len(doc.Stages) == 0 && !doc.Applied {
			t.Errorf("%s: no stage is told", doc.Kind)
		}
	}
}

// A unit names what was asked for, and nothing that systemd would read as something else.
func TestCacheUnit(t *testing.T) {
	add, warm := []string{"/usr/bin/plumb", "provision", "cache", "add", "tank", "/dev/disk/by-id/x", "--yes"}, []string{"/usr/bin/plumb", "provision", "cache", "warm", "tank", "tank/db", "--yes"}
	text, err := CacheUnit("tank", "/dev/disk/by-id/x", add, warm)
	if first, second := "ExecStart="+strings.Join(add, " ")+"\n", "ExecStart="+strings.Join(warm, " ")+"\n"; err != nil || !strings.Contains(text, first+second) {
		t.Errorf("%v:\n%s", err, text)
	}
	if text, err := CacheUnit("tank", "/dev/disk/by-id/x", add, nil); err != nil || strings.Count(text, "ExecStart=") != 1 {
		t.Errorf("%v:\n%s", err, text)
	}
	if _, err := CacheUnit("tank", "/dev/disk/by-id/x", add, []string{"tank/a b"}); err == nil {
		t.Error("a unit with a word in two parts")
	}
}
