package guard

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
)

// poolName is what may become part of a unit's name.
var poolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:-]{0,100}$`)

// Where units of packages lie.
var unitDirs = []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}

// PoolTimers have a pool of ZFS scrubbed each month, and trimmed each week where its
// disks take it. Where the distribution does so already (Debian's zfsutils-linux by cron), or somebody
// has set a timer, there is nothing to do. The notes say what a person has to set up.
func PoolTimers(ctx context.Context, h host.Reader, pool string, trim bool) (acts []change.Act, notes []string, err error) {
	if !poolName.MatchString(pool) {
		return nil, nil, fmt.Errorf("%q is no name of a pool", pool)
	}
	cron, err := cronOf(ctx, h)
	if err != nil {
		return nil, nil, err
	}
	for _, job := range []string{"scrub", "trim"} {
		if job == "trim" && !trim || strings.Contains(cron, job) {
			continue
		}
		unit, why, err := timerFor(ctx, h, job, pool)
		switch {
		case err != nil:
			return nil, nil, err
		case unit == "" && why != "":
			notes = append(notes, why)
		case unit != "":
			acts = append(acts, enabled(unit))
		}
	}
	return acts, notes, nil
}

// cronOf gives what Debian's cron does for pools.
func cronOf(ctx context.Context, h host.Reader) (string, error) {
	const file = "/etc/cron.d/zfsutils-linux"
	there, err := has(ctx, h, file)
	if err != nil || !there {
		return "", err
	}
	text, err := h.ReadFile(ctx, file)
	if err != nil {
		return "", fmt.Errorf("see what cron does for pools: %w", err)
	}
	var lines strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines.WriteString(line)
		}
	}
	return lines.String(), nil
}

// timerFor finds a timer of OpenZFS that does a job: "" with no word when one is
// enabled already.
func timerFor(ctx context.Context, h host.Reader, job, pool string) (unit, why string, err error) {
	wanted := map[string]string{"scrub": "monthly", "trim": "weekly"}[job]
	for _, often := range []string{"weekly", "monthly"} {
		on, err := h.Glob(ctx, "/etc/systemd/system/timers.target.wants/zfs-"+job+"-"+often+"@"+pool+".timer")
		if err != nil || len(on) > 0 {
			return "", "", err
		}
	}
	for _, dir := range unitDirs {
		there, err := has(ctx, h, path.Join(dir, "zfs-"+job+"-"+wanted+"@.timer"))
		if err != nil {
			return "", "", err
		}
		if there {
			return "zfs-" + job + "-" + wanted + "@" + pool + ".timer", "", nil
		}
	}
	return "", fmt.Sprintf("nothing here does zpool %s by itself: OpenZFS has timers for it from 2.1.3 on, before that cron must do it", job), nil
}

// enabled has a timer of a package run.
func enabled(unit string) change.Act {
	return change.Act{Switch: &change.Switch{On: unit, Exact: true, Patience: 5000,
		Inspect:  change.Inspection{Argv: []string{"systemctl", "show", "-p", "UnitFileState", unit}, Match: `^UnitFileState=(enabled)$`},
		After:    "enabled",
		Do:       []change.Op{{Argv: []string{"systemctl", "enable", "--now", unit}}},
		UndoNone: []change.Op{{Argv: []string{"systemctl", "disable", "--now", unit}}}}}
}

// ScrubBtrfs has a filesystem of btrfs scrubbed each month, by units of ours: no
// package of Debian's or Ubuntu's does.
func ScrubBtrfs(ctx context.Context, h host.Reader, at string) (acts []change.Act, err error) {
	if err := plainPath(at); err != nil {
		return nil, err
	}
	on, err := has(ctx, h, "/etc/systemd/system/timers.target.wants/btrfs-scrub.timer") // of btrfsmaintenance
	if err != nil || on {
		return nil, err
	}
	reload, err := reload(ctx, h)
	if err != nil {
		return nil, err
	}
	name := "plumb-scrub" + strings.ReplaceAll(at, "/", "-")
	set := func(kind, key, value string) {
		acts = append(acts, change.Act{Edit: &change.Edit{File: "/etc/systemd/system/" + name + kind, Form: edit.Unit, Key: key, Value: value, Ours: true, Note: "Reads all of " + at + " once a month and mends what can be mended."}})
	}
	set(".service", "Unit/RequiresMountsFor", at)
	set(".service", "Service/Type", "oneshot")
	set(".service", "Service/Nice", "19")
	set(".service", "Service/ExecStart", "/usr/bin/env btrfs scrub start -B "+at)
	set(".timer", "Timer/OnCalendar", "monthly")
	set(".timer", "Timer/RandomizedDelaySec", "12h")
	set(".timer", "Timer/Persistent", "true")
	set(".timer", "Install/WantedBy", "timers.target")
	if acts, err = toDo(ctx, h, acts); err != nil {
		return nil, err
	}
	acts = reread(acts, reload)
	runs, err := has(ctx, h, "/etc/systemd/system/timers.target.wants/"+name+".timer")
	if err == nil && !runs && reload != nil {
		acts = append(acts, enabled(name+".timer"))
	}
	return acts, err
}
