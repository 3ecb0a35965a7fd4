package fix

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/fix"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

// fixDraft is a plan of every kind of step.
func fixDraft() change.Draft {
	knob := func(kind, name, knob string) stack.Knob {
		return stack.Knob{Of: stack.Ref{Kind: kind, Name: name}, Name: knob}
	}
	set := change.Act{Switch: &change.Switch{On: "somewhere", After: "1"}}
	line := func(file string, ours bool) change.Act {
		return change.Act{Edit: &change.Edit{File: file, Form: edit.Sysctl, Key: "k", Value: "1", Ours: ours}}
	}
	step := func(k stack.Knob, from, to stack.Value, because, why string, r change.Recipe) change.Prepared {
		return change.Prepared{Step: change.Step{Knob: k, From: from, To: to, Because: because, Why: []string{why}}, Now: from, Recipe: r,
			DurabilityFrom: catalog.Safe, DurabilityTo: catalog.Safe}
	}
	const cnf, ours = "/etc/mysql/mariadb.conf.d/zz-plumb.cnf", "/etc/sysctl.d/99-zz-plumb.conf"
	restart := []change.Op{{Argv: []string{"systemctl", "restart", "mariadb.service"}}}
	binlog := step(knob("mysql", "3306", "sync_binlog"), stack.Int(0), stack.Int(1), "sync_binlog is 0", "mysql/sync-binlog",
		change.Recipe{Effect: catalog.Now, Lasts: cnf, Acts: []change.Act{set, line(cnf, true)}, Notes: []string{"one more fsync per commit group"}})
	binlog.DurabilityFrom = catalog.MayLose
	flush := step(knob("mysql", "3306", "innodb_flush_log_at_trx_commit"), stack.Int(1), stack.Int(2), "set by hand", "",
		change.Recipe{Effect: catalog.Now, Lasts: cnf, Acts: []change.Act{set, line(cnf, true)}})
	flush.DurabilityTo, flush.Why = catalog.MayLose, nil
	return change.Draft{
		Steps: []change.Prepared{
			step(knob("host", "db1", "vm_swappiness"), stack.Int(60), stack.Int(1), "vm.swappiness is 60", "kernel/swappiness",
				change.Recipe{Effect: catalog.Now, Lasts: ours, Acts: []change.Act{set, line(ours, true)}}),
			step(knob("host", "db1", "vm_overcommit_memory"), stack.Value{}, stack.Int(2), "the kernel promises more memory than there is", "kernel/overcommit",
				change.Recipe{Effect: catalog.Now, Lasts: "/etc/sysctl.conf", Acts: []change.Act{set, line("/etc/sysctl.conf", false)}}),
			binlog, flush,
			step(knob("mysql", "3306", "innodb_buffer_pool_size"), stack.Int(128<<20), stack.Int(40<<30), "The buffer pool is 128M of 64G", "mysql/buffer-pool-small",
				change.Recipe{Effect: catalog.Now, Lasts: cnf, Acts: []change.Act{set, set, line(cnf, true)}}),
			step(knob("mysql", "3306", "innodb_log_write_ahead_size"), stack.Int(8192), stack.Int(16384), "Log writes are smaller than a record", "cross/zfs-log-write-ahead",
				change.Recipe{Effect: catalog.Restart, Waits: "a restart of mariadb.service", Restart: restart, Lasts: cnf, Acts: []change.Act{line(cnf, true)}}),
			step(knob("mysql", "3306", "innodb_doublewrite"), stack.Text("ON"), stack.Text("OFF"), "ZFS does not tear pages", "cross/zfs-doublewrite",
				change.Recipe{Effect: catalog.Restart, Waits: "a restart of mariadb.service", Restart: restart, Lasts: cnf, Acts: []change.Act{line(cnf, true)}}),
			step(knob("dataset", "tank/db/data", "recordsize"), stack.Int(131072), stack.Int(16384), "16K pages are kept in 128K records", "cross/zfs-recordsize-innodb",
				change.Recipe{Effect: catalog.NewWrites, Lasts: "the pool", Acts: []change.Act{set}, Notes: []string{"existing blocks keep their size: copy the tables to finish"}}),
			step(knob("block", "nvme0n1", "scheduler"), stack.Text("bfq"), stack.Text("none"), "bfq is slow on NVMe", "block/scheduler",
				change.Recipe{Effect: catalog.Now, Lasts: "/etc/udev/rules.d/99-plumb-block.rules", Acts: []change.Act{set, line("x", true)}}),
			step(knob("filesystem", "8:17", "options"), stack.Text("data=ordered"), stack.Text("noatime"), "atime is written", "ext4/atime",
				change.Recipe{Effect: catalog.Remount, Waits: "an unmount of /data", Lasts: "/etc/fstab", Acts: []change.Act{line("/etc/fstab", false)}}),
		},
		Refused: []change.Refused{{Step: change.Step{Knob: knob("mysql", "3306", "innodb_page_size"), To: stack.Int(16384)}, Reason: "it is fixed when the thing is made", Hint: "make a new one and move the data"}},
		Already: []change.Step{{Knob: knob("mysql", "3306", "binlog_row_image"), To: stack.Text("MINIMAL")}},
	}
}

func refusedDraft() change.Draft {
	d := fixDraft()
	d.Steps, d.Already = d.Steps[:1], nil
	d.Refused[0].Whole, d.Refused[0].Reason, d.Refused[0].Hint = true, "the plan is out of date: the value was 8K when it was made, and is 4K now", "plumb check --plan FILE makes a new plan"
	d.Missing = []string{"SYSTEM_VARIABLES_ADMIN for plumb@localhost", "open /proc/sys/vm/swappiness: permission denied (to set it)"}
	return d
}

func TestFixPlan(t *testing.T) {
	cat := viewtest.Units()
	viewtest.Golden(t, "fix-plan.txt", Plan(fixDraft(), cat, page.Screen{Width: 80}))
	viewtest.Golden(t, "fix-plan-wide.txt", Plan(fixDraft(), cat, page.Screen{Width: 120, Colour: true}))
	viewtest.Golden(t, "fix-refused.txt", Plan(refusedDraft(), cat, page.Screen{Width: 80}))
	if got := Plan(change.Draft{}, cat, page.Screen{}); got != "Nothing to do\n" {
		t.Errorf("an empty plan is %q", got)
	}
}

// fixOutcome is what became of fixDraft, and what was seen afterwards.
func fixOutcome() (change.Outcome, []fix.After) {
	out := change.Outcome{Number: 7}
	var after []fix.After
	for _, s := range fixDraft().Steps {
		o := change.StepOutcome{Prepared: s, Done: true}
		a := fix.After{Knob: s.Knob, Known: true, Fact: stack.Fact{Value: s.To}}
		switch s.Knob.Name {
		case "vm_overcommit_memory":
			a.Fact = stack.Fact{Value: s.To, Next: &stack.Next{Value: stack.Int(0), Origin: stack.Origin{From: stack.FromFile, File: "/etc/sysctl.d/zzz.conf", Line: 3}}}
		case "innodb_flush_log_at_trx_commit":
			a.Fact = stack.Fact{Value: stack.Int(1), Origin: &stack.Origin{From: stack.FromFile, File: "/etc/mysql/my.cnf", Line: 12}}
		case "innodb_buffer_pool_size":
			a.Fires = []string{"mysql/buffer-pool-small"}
			o.Got = []string{"mysql:3306 @@GLOBAL.innodb_buffer_pool_size took 42949672960 in place of 42949672961"}
		case "innodb_doublewrite":
			o.Restarted = true
		case "scheduler":
			o.Done, o.Failure, o.Back = false, "write /sys/block/nvme0n1/queue/scheduler: invalid argument", "taken back"
		case "options":
			o.Done = false
		case "recordsize":
			a.Known = false
		}
		out.Steps, after = append(out.Steps, o), append(after, a)
	}
	return out, after
}

func TestFixOutcome(t *testing.T) {
	out, after := fixOutcome()
	viewtest.Golden(t, "fix-outcome.txt", Outcome(fix.Result{Outcome: out, After: after}, viewtest.Units(), page.Screen{Width: 80}))
	out.Steps = out.Steps[:1]
	viewtest.Golden(t, "fix-try.txt", Outcome(fix.Result{Outcome: out, After: after, Try: 10 * time.Minute}, viewtest.Units(), page.Screen{Width: 80}))
}

// someHistory is a change in every state.
func someHistory() ([]*change.Change, time.Time) {
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	act := func(state change.State, place, before, after string) change.Recorded {
		return change.Recorded{Act: change.Act{Switch: &change.Switch{On: place, After: after}}, Made: change.Made{Before: before}, State: state}
	}
	file := func(state change.State, isNew bool, before, after string) change.Recorded {
		s := edit.Diff([]byte(before), []byte(after))
		return change.Recorded{Act: change.Act{Edit: &change.Edit{File: "/etc/sysctl.conf", Key: "vm.swappiness", Value: "1"}}, Made: change.Made{New: isNew, Splice: &s}, State: state}
	}
	make1 := func(n int, ended bool, acts ...change.Recorded) *change.Change {
		c := &change.Change{Number: n, At: now.Add(time.Duration(n-20) * time.Hour), Acts: acts, Ended: ended}
		c.Host, c.User, c.Plumb = "db1.example.com", "root", "0.4.0"
		c.Steps = []change.Step{{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "db1"}, Name: "vm_swappiness"}, To: stack.Int(1), Because: "vm.swappiness is 60"}}
		return c
	}
	const place = "/proc/sys/vm/swappiness"
	failed := act(change.Failed, place, "60", "1")
	failed.Why = "write /proc/sys/vm/swappiness: input/output error"
	left := act(change.Left, place, "60", "1")
	left.Why = "changed since by somebody: /proc/sys/vm/swappiness was left as 1 and is 5"
	try, late := make1(6, true, act(change.Done, place, "60", "1")), make1(7, true, act(change.Done, place, "60", "1"))
	try.Try, late.Try = now.Add(4*time.Minute), now.Add(-time.Minute)
	kept := make1(8, true, act(change.Done, place, "60", "1"))
	kept.Try, kept.Confirmed = now.Add(-time.Hour), true
	return []*change.Change{
		make1(1, true, act(change.Done, place, "60", "1"), file(change.Done, false, "a=1\nvm.swappiness = 60\n", "a=1\nvm.swappiness = 1\n")),
		make1(2, true, act(change.Undone, place, "60", "1"), file(change.Undone, true, "", "vm.swappiness = 1\n")),
		make1(3, true, left, file(change.Done, false, "", "vm.swappiness = 1\n")),
		make1(4, false, failed, file(change.Begun, true, "", "vm.swappiness = 1\n")),
		make1(5, true), try, late, kept,
	}, now
}

func TestHistory(t *testing.T) {
	all, now := someHistory()
	viewtest.Golden(t, "history.txt", History(all, now, page.Screen{Width: 80}))
	var each strings.Builder
	for _, c := range all[:6] {
		each.WriteString(HistoryOf(c, now, page.Screen{Width: 80}) + "\n")
	}
	viewtest.Golden(t, "history-each.txt", each.String())
}

// someTrail is what an undo met.
func someTrail() []fix.Undone {
	all, _ := someHistory()
	return []fix.Undone{{Change: 1, Past: all[1].Acts[0]}, {Change: 1, Past: all[2].Acts[0]}, {Change: 1, Past: all[0].Acts[1], Err: errors.New("write /etc/sysctl.conf: read-only file system")}}
}

func TestUndo(t *testing.T) {
	all, _ := someHistory()
	viewtest.Golden(t, "undo.txt", UndoPlan(all[:4], fix.Undo{}, page.Screen{Width: 80})+UndoOutcome(someTrail(), page.Screen{Width: 80}))
}

// What is forgotten is shown before and after, with what it was and what Plumb made of it; nothing says that it is undone.
func TestForgotten(t *testing.T) {
	all, now := someHistory()
	screen := page.Screen{Width: 80}
	before := UndoPlan(all[:1], fix.Undo{Forget: true}, screen)
	plan := UndoPlanDocument(all[:1], fix.Undo{Forget: true})
	c := all[0]
	c.Acts[1].State = change.Undone
	trail := []fix.Undone{}
	for i := range c.Acts[:1] {
		c.Acts[i].State, c.Acts[i].Forgotten, c.Acts[i].Why = change.Left, true, "forgotten: its present state was not read"
		trail = append(trail, fix.Undone{Change: 1, Past: c.Acts[i]})
	}
	text, err := page.JSON([]any{plan, UndoDocument(trail), HistoryDocument(all[:1], now)})
	if err != nil {
		t.Fatal(err)
	}
	viewtest.Golden(t, "forget.txt", before+Forgotten(trail, screen)+History(all[:1], now, screen)+HistoryOf(c, now, screen)+string(text))
	viewtest.FitsSchema(t, schema.Of("undo"), plan)
	viewtest.FitsSchema(t, schema.Of("undo"), UndoDocument(trail))
	viewtest.FitsSchema(t, schema.Of("history"), HistoryDocument(all[:1], now))
	c.Acts = c.Acts[:1]
	if got := State(c, now); got != "forgotten" {
		t.Errorf("with nothing else in it, it is %q", got)
	}
}

// A server that does not answer is waited for; of one that answers it is said what it says.
func TestUndoOfServers(t *testing.T) {
	all, _ := someHistory()
	trail := []fix.Undone{{Change: 4, Past: all[0].Acts[0], Err: &change.Waiting{For: "mysql:3306", Err: host.ErrDown}},
		{Change: 3, Past: all[0].Acts[0], Err: &change.Waiting{For: "mongo:27017", Err: errors.New("read mongo:27017 x: no option found to get")}}}
	doc := UndoDocument(trail)
	if doc.Acts[0].Waits != "mysql:3306" || doc.Acts[1].Waits != "" || !strings.HasPrefix(doc.Acts[1].Error, "read mongo:27017") {
		t.Errorf("%+v", doc)
	}
	viewtest.Golden(t, "undo-servers.txt", UndoOutcome(trail, page.Screen{Width: 80}))
}

func TestChangesFitTheirSchemas(t *testing.T) {
	out, after := fixOutcome()
	all, now := someHistory()
	viewtest.FitsSchema(t, schema.Of("fix"), Document(fix.Result{Draft: fixDraft(), Outcome: out, After: after}, viewtest.Units()))
	viewtest.FitsSchema(t, schema.Of("fix"), Document(fix.Result{Draft: refusedDraft()}, viewtest.Units()))
	viewtest.FitsSchema(t, schema.Of("fix"), Document(fix.Result{}, viewtest.Units()))
	viewtest.FitsSchema(t, schema.Of("history"), HistoryDocument(all, now))
	viewtest.FitsSchema(t, schema.Of("history"), HistoryDocument(nil, now))
	viewtest.FitsSchema(t, schema.Of("undo"), UndoDocument(someTrail()))
	viewtest.FitsSchema(t, schema.Of("undo"), UndoDocument(nil))
	viewtest.FitsSchema(t, schema.Of("undo"), UndoPlanDocument(all, fix.Undo{Restart: true}))
	viewtest.FitsSchema(t, schema.Of("history"), HistoryDocument([]*change.Change{{Number: 3, Damage: errors.New("read it: the file is damaged")}}, now))
	b, err := page.JSON(Document(fix.Result{Draft: fixDraft(), Outcome: out, After: after}, viewtest.Units()))
	if err != nil {
		t.Fatal(err)
	}
	viewtest.Golden(t, "fix.json", string(b))
}
