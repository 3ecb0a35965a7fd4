package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// EmitTargets lists the forms in which a plan can be printed.
func EmitTargets() []string {
	return []string{"my.cnf", "postgresql.conf", "mongod.conf", "sysctl", "udev", "zfs"}
}

// Emit prints the steps of a plan that belong to one target, in that target's
// own syntax, with the reason and the rules above each. It applies nothing.
func Emit(target string, plan advise.Plan, cat *catalog.Catalog) (string, error) {
	if !slices.Contains(EmitTargets(), target) {
		return "", fmt.Errorf("%q is not a form to print: want one of %s", target, strings.Join(EmitTargets(), ", "))
	}
	e := emitter{Page: page.NewPage(page.Screen{Width: 80}), Facts: picture.Facts{Cat: cat}}
	host := cmp.Or(plan.Host, "this host")
	e.comment(fmt.Sprintf("for %s, from plumb check --emit %s. Nothing was changed.", host, target))
	n := 0
	for _, kind := range targetKinds(target) {
		n += e.kind(target, kind, plan.Steps)
	}
	if n == 0 {
		e.comment("nothing to set")
	}
	return e.String(), nil
}

func targetKinds(target string) []string {
	switch target {
	case "sysctl":
		return []string{"host"}
	case "udev":
		return []string{"block"}
	}
	for _, s := range product.Servers() {
		if s.Config == target {
			return []string{s.Kind}
		}
	}
	return []string{"dataset", "pool", "zfs"}
}

type emitter struct {
	*page.Page
	picture.Facts
}

// comment writes wrapped lines that all start with #.
func (e emitter) comment(s string) {
	for _, l := range page.Wrap(page.Clean(s), e.Width-2) {
		e.Line(page.Normal, "# "+l)
	}
}

// kind prints the steps for things of one kind, thing by thing, and counts them.
func (e emitter) kind(target, kind string, steps []advise.Step) int {
	var of []stack.Ref
	for _, s := range steps {
		if s.Knob.Of.Kind == kind && !slices.Contains(of, s.Knob.Of) {
			of = append(of, s.Knob.Of)
		}
	}
	if len(of) > 1 && product.IsServer(kind) {
		e.comment(fmt.Sprintf("There are %d servers: each part belongs in the file of its own server.", len(of)))
	}
	for _, thing := range of {
		var mine []advise.Step
		for _, s := range steps {
			if s.Knob.Of == thing {
				mine = append(mine, s)
			}
		}
		if kind != "host" && kind != "zfs" {
			e.Blank()
			e.comment(thing.String())
		}
		if target == "mongod.conf" {
			e.mongo(mine)
			continue
		}
		if target == "my.cnf" {
			e.Line(page.Normal, "[mysqld]")
		}
		for i, s := range mine {
			if i > 0 || kind == "host" || kind == "zfs" {
				e.Blank()
			}
			e.reason(s)
			e.text(s)
		}
	}
	return len(of)
}

// reason writes the comment above a setting: what is out of line, by which
// rule, what is in force, and when the change takes effect.
func (e emitter) reason(s advise.Step) {
	e.comment(strings.ReplaceAll(s.Because, "\n", " "))
	parts := []string{"rule " + strings.Join(s.Why, ", ")}
	if !s.From.IsAbsent() {
		parts = append(parts, "in force: "+e.Show(s.Knob.Of.Kind, s.Knob.Name, s.From))
	}
	for _, t := range []string{whenText(s), s.Note} {
		if t != "" {
			parts = append(parts, t)
		}
	}
	e.comment(strings.ReplaceAll(strings.Join(parts, "; "), "\n", " "))
}

// text writes the setting itself. What cannot be written in this form is
// said in a comment, never left out in silence.
func (e emitter) text(s advise.Step) {
	name, of := e.Name(s.Knob.Of.Kind, s.Knob.Name), s.Knob.Of
	t := e.TypeOf(of.Kind, s.Knob.Name)
	line := ""
	switch of.Kind {
	case product.MySQL:
		line = name + " = " + mysqlValue(t, s.To)
	case product.Postgres:
		line = name + " = " + postgresValue(t, s.To)
	case "host":
		if strings.HasPrefix(name, "/sys/") {
			e.comment("no sysctl; in a file of /etc/tmpfiles.d:")
			e.Line(page.Normal, "# w "+name+" - - - - "+s.To.String())
			return
		}
		if strings.Contains(name, ".") {
			line = name + " = " + s.To.String()
		}
	case "block":
		line = udevLine(of.Name, s.Knob.Name, s.To)
	case "dataset":
		line = fmt.Sprintf("zfs set %s=%s %s", name, host.ShellWord(catalog.Native(of.Kind, t, s.To)), host.ShellWord(of.Name))
	case "pool":
		line = fmt.Sprintf("zpool set %s=%s %s", name, host.ShellWord(catalog.Native(of.Kind, t, s.To)), host.ShellWord(of.Name))
	case "zfs":
		e.comment(fmt.Sprintf("to keep it across a reboot, put into /etc/modprobe.d/zfs.conf: options zfs %s=%s", name, s.To))
		line = fmt.Sprintf("echo %s > /sys/module/zfs/parameters/%s", host.ShellWord(s.To.String()), host.ShellWord(name))
	}
	switch {
	case s.Effect == catalog.Recreate:
		e.comment(fmt.Sprintf("not written here: %s is fixed when it is created; for %s it must be created again", name, e.Show(of.Kind, s.Knob.Name, s.To)))
	case line == "":
		e.comment(fmt.Sprintf("not written here: %s = %s is set in another way", name, e.Show(of.Kind, s.Knob.Name, s.To)))
	default:
		e.Line(page.Normal, strings.ReplaceAll(line, "\n", " "))
	}
}

func mysqlValue(t catalog.Type, v stack.Value) string {
	s := catalog.Native(product.MySQL, t, v)
	if strings.ContainsAny(s, " #;'\"") {
		return strconv.Quote(s)
	}
	return s
}

func postgresValue(t catalog.Type, v stack.Value) string {
	s := catalog.Native(product.Postgres, t, v)
	_, isBool := v.Bool()
	if _, isNumber := v.Number(); isBool || isNumber {
		return s
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(s) + "'"
}

// udevLine writes the rule for one attribute of a disk; "" for what udev does
// not set.
func udevLine(disk, knob string, v stack.Value) string {
	attributes := []string{"scheduler", "read_ahead_kb", "nr_requests", "rq_affinity", "nomerges", "wbt_lat_usec", "write_cache",
		"iostats", "io_timeout", "max_sectors_kb"}
	if !slices.Contains(attributes, knob) {
		return ""
	}
	return fmt.Sprintf(`ACTION=="add|change", SUBSYSTEM=="block", KERNEL==%q, ATTR{queue/%s}=%q`, disk, knob, v.String())
}
