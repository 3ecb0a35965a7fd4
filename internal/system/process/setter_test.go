package process

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/change/changetest"
	"plumb/internal/host"
	"plumb/internal/host/chroot"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// running is a server as the probe shows it.
func running(group string, facts map[string]stack.Value) *stack.Stack {
	var obs stack.Observation
	p := obs.New("process", "7")
	p.Set("nofile_soft", stack.Int(1024), "test")
	p.Set("memlock_soft", stack.Int(65536), "test")
	p.Set("own_root", stack.Bool(false), "test")
	for name, v := range facts {
		p.Set(name, v, "test")
	}
	p.Link("cgroup")
	if group != "" {
		obs.New("cgroup", group).Set("path", stack.Text(group), "test")
		p.Link("cgroup", stack.Ref{Kind: "cgroup", Name: group})
	}
	var s stack.Stack
	s.Add("test", obs)
	return &s
}

// The suite in a scratch root: a drop-in of a unit, and limits.d for a server
// that no unit started.
func TestSetterInAScratchRoot(t *testing.T) {
	doer := hosttest.LiveDoer(t)
	for name, c := range map[string]struct {
		group, file string
	}{
		"unit":   {"/system.slice/mariadb.service", "/etc/systemd/system/mariadb.service.d/zz-plumb.conf"},
		"limits": {"", limitsOurs},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			changetest.Run(t, changetest.Case{Doer: systemd{chroot.New(doer, dir)}, Setter: Setter{}, Catalog: hosttest.Catalog(t), Dir: "/var/lib/plumb", Few: 3,
				Observe: func() *stack.Stack { return running(c.group, map[string]stack.Value{"user": stack.Text("mysql")}) },
				Knob:    stack.Knob{Of: stack.Ref{Kind: "process", Name: "7"}, Name: "nofile_soft"}, To: stack.Int(65536),
				State: func() string {
					text, err := os.ReadFile(dir + c.file)
					if err != nil {
						return "none"
					}
					return string(text)
				}})
		})
	}
}

func TestRecipes(t *testing.T) {
	cat := hosttest.Catalog(t)
	recipe := func(s *stack.Stack, h host.Reader, knob string, to stack.Value) (change.Recipe, error) {
		return Setter{}.Recipe(t.Context(), h, s, change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "process", Name: "7"}, Name: knob}, To: to, Fact: cat.Fact("process", knob)})
	}
	mainPID := func(unit, pid string) map[string]string {
		return map[string]string{"systemctl show --property=MainPID " + unit: "MainPID=" + pid + "\n"}
	}
	runs := map[string]host.Stat{"/run/systemd/system": {}}
	systemd := hosttest.Map{Stats: runs, Outputs: mainPID("mariadb.service", "7")}
	r, err := recipe(running("/system.slice/mariadb.service", nil), systemd, "nofile_soft", stack.Int(65536))
	if err != nil || r.Acts[0].Edit.Key != "Service/LimitNOFILE" || r.Acts[0].Edit.Apply == nil || len(r.Restart) != 1 || r.Waits != "a restart of mariadb.service" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = recipe(running("", map[string]stack.Value{"user": stack.Text("pg")}), hosttest.Map{}, "memlock_soft", stack.Int(1<<20))
	if err != nil || r.Acts[0].Edit.Key != "pg/-/memlock" || r.Acts[0].Edit.Value != "1024" || r.Restart != nil || len(r.Notes) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	limits := "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 524288               files     \nMax locked memory         65536                unlimited            bytes     \n"
	high := hosttest.Map{Stats: runs, Outputs: mainPID("mariadb.service", "7"), Files: map[string]string{"/proc/7/limits": limits, "/etc/systemd/system/x.service.d/zzz.conf": "[Service]\nLimitNOFILE=5\n"}}
	for _, c := range []struct {
		group, knob string
		to          int64
		key, value  string
	}{
		{"/system.slice/mariadb.service", "nofile_soft", 65536, "Service/LimitNOFILE", "65536:524288"}, // the hard limit stays
		{"/system.slice/mariadb.service/sub", "nofile_soft", 1048576, "Service/LimitNOFILE", "1048576"},
		{"/system.slice/mariadb.service", "memlock_soft", 1 << 20, "Service/LimitMEMLOCK", "1048576:infinity"},
		{"", "nofile_soft", 65536, "pg/soft/nofile", "65536"},
	} {
		r, err := recipe(running(c.group, map[string]stack.Value{"user": stack.Text("pg")}), high, c.knob, stack.Int(c.to))
		if err != nil || r.Acts[0].Edit.Key != c.key || r.Acts[0].Edit.Value != c.value {
			t.Errorf("%+v: %+v, %v", c, r, err)
		}
	}
	high.Outputs = mainPID("x.service", "7")
	if _, err := recipe(running("/system.slice/x.service", nil), high, "nofile_soft", stack.Int(65536)); err == nil || !strings.Contains(err.Error(), "zzz.conf, which is read after") {
		t.Errorf("a drop-in that beats ours: %v", err)
	}
	for want, s := range map[string]*stack.Stack{
		"a user's own systemd":          running("/user.slice/user-1.slice/user@1.service/app.slice/x.service", nil),
		"container's runtime":           running("/docker/x", map[string]stack.Value{"own_root": stack.Bool(true)}),
		"neither its unit nor its user": running("", nil),
	} {
		_, err := recipe(s, hosttest.Map{}, "nofile_soft", stack.Int(65536))
		if r, ok := errors.AsType[*change.Refusal](err); !ok || !strings.Contains(r.Why, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Debian's MariaDB has mounts of its own, because its unit protects the system's
// from it: it is no container for that.
func TestAServiceWithMountsOfItsOwnIsNoContainer(t *testing.T) {
	h := hosttest.Map{Stats: map[string]host.Stat{"/run/systemd/system": {}},
		Outputs: map[string]string{"systemctl show --property=MainPID mariadb.service": "MainPID=7\n"}}
	r, err := Setter{}.Recipe(t.Context(), h, running("/system.slice/mariadb.service", map[string]stack.Value{"own_mounts": stack.Bool(true)}),
		change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "process", Name: "7"}, Name: "nofile_soft"}, To: stack.Int(65536), Fact: hosttest.Catalog(t).Fact("process", "nofile_soft")})
	if err != nil || !strings.HasPrefix(r.Lasts, "/etc/systemd/system/mariadb.service.d/") {
		t.Errorf("%+v, %v", r, err)
	}
}

// A server that was started from cron, ssh or a supervisor lies in a unit that
// is not its own: a drop-in there would be for everything else in it, and a
// restart would end that.
func TestUnitOfSomebodyElse(t *testing.T) {
	cat := hosttest.Catalog(t)
	for _, c := range []struct {
		unit, main string // the unit's main process
		parent     string // its name
		own        bool
	}{
		{"mariadb.service", "7", "systemd", true},
		{"db-of-the-shop.service", "7", "systemd", true},
		{"mysql.service", "6", "mysqld_safe", true},
		{"cron.service", "6", "cron", false},
		{"ssh.service", "3", "bash", false},
		{"supervisor.service", "6", "supervisord", false},
		{"mysql.service", "0", "systemd", false}, // its own server is down, and this is another
	} {
		h := hosttest.Map{Stats: map[string]host.Stat{"/run/systemd/system": {}},
			Outputs: map[string]string{"systemctl show --property=MainPID " + c.unit: "MainPID=" + c.main + "\n"},
			Files:   map[string]string{"/proc/7/status": "Name:\tmysqld\nPPid:\t6\n", "/proc/6/comm": c.parent + "\n"}}
		r, err := Setter{}.Recipe(t.Context(), h, running("/system.slice/"+c.unit, nil), change.Want{Knob: stack.Knob{Of: stack.Ref{Kind: "process", Name: "7"}, Name: "nofile_soft"},
			To: stack.Int(65536), Fact: cat.Fact("process", "nofile_soft")})
		refused, _ := errors.AsType[*change.Refusal](err)
		if c.own != (err == nil && len(r.Restart) == 1) || !c.own && (refused == nil || !strings.Contains(refused.Why, "it runs in "+c.unit)) {
			t.Errorf("%+v: %+v, %v", c, r, err)
		}
	}
}

// systemd is a scratch root on which systemd runs, with one unit whose main process is 7.
type systemd struct{ host.Doer }

func (s systemd) Stat(ctx context.Context, name string) (host.Stat, error) {
	if name == "/run/systemd/system" {
		return host.Stat{}, nil
	}
	return s.Doer.Stat(ctx, name)
}

func (s systemd) Output(_ context.Context, _ ...string) ([]byte, error) {
	return []byte("MainPID=7\n"), nil
}

func (s systemd) Run(_ context.Context, _ ...string) ([]byte, error) { return nil, nil }
