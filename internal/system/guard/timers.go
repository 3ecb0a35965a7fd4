package guard

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/host"
)

// poolName is what may become part of a unit's name.
var poolName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:-]{0,100}$`)

// Where units of packages lie.
var unitDirs = []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}

// Disks are what counts of the disks of a pool.
type Disks struct {
	Trims bool // one of them takes a trim
	NVMe  bool // all of them are such: Debian's cron trims no others by itself
}

// PoolTimers have a pool of ZFS scrubbed each month, and trimmed each week where its
// disks take it. Where the distribution does so already (Debian's zfsutils-linux by cron), or somebody
// has set a timer, there is nothing to do. The notes say what a person has to set up.
func PoolTimers(ctx context.Context, h host.Reader, pool string, disks Disks) (acts []change.Act, notes []string, err error) {
	if !poolName.MatchString(pool) {
		return nil, nil, fmt.Errorf("%q is not a pool name", pool)
	}
	cron, err := cronOf(ctx, h)
	if err != nil {
		return nil, nil, err
	}
	for _, job := range []string{"scrub", "trim"} {
		byCron := strings.Contains(cron, job)
		if job == "trim" && (!disks.Trims || byCron && disks.NVMe) || job == "scrub" && byCron {
			continue
		}
		unit, why, err := timerFor(ctx, h, job, pool)
		switch {
		case err != nil:
			return nil, nil, err
		case unit == "" && why != "" && byCron:
			notes = append(notes, why+"; Debian's cron trims only pools of NVMe disks, and this one after zfs set org.debian:periodic-trim=enable "+pool)
		case unit == "" && why != "":
			notes = append(notes, why)
		case unit != "":
			acts = append(acts, enabled(unit))
		}
	}
	return acts, notes, nil
}

// crons are those that read a crontab of Debian's: cron, cronie, and systemd-cron, which makes timers of it.
var crons = []string{"/usr/sbin/cron", "/usr/sbin/crond", "/usr/lib/systemd/system-generators/systemd-crontab-generator", "/lib/systemd/system-generators/systemd-crontab-generator"}

// cronOf gives what Debian's cron does for pools: nothing where no cron is installed, as in small images.
func cronOf(ctx context.Context, h host.Reader) (string, error) {
	const file = "/etc/cron.d/zfsutils-linux"
	there, err := host.Exists(ctx, h, file)
	if err != nil || !there {
		return "", err
	}
	reads := false
	for _, cron := range crons {
		is, err := host.Exists(ctx, h, cron)
		if err != nil {
			return "", err
		}
		reads = reads || is
	}
	if !reads {
		return "", nil
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
		there, err := host.Exists(ctx, h, path.Join(dir, "zfs-"+job+"-"+wanted+"@.timer"))
		if err != nil {
			return "", "", err
		}
		if !there {
			continue
		}
		if template := "zfs-" + job + "-" + wanted + "@"; masked(ctx, h, template+pool+".timer", template+".timer") {
			return "", fmt.Sprintf("nothing here does zpool %s by itself: somebody has masked %s%s.timer", job, template, pool), nil
		}
		return "zfs-" + job + "-" + wanted + "@" + pool + ".timer", "", nil
	}
	since := map[string]string{"scrub": "2.1.3", "trim": "2.2"}[job]
	return "", fmt.Sprintf("nothing here does zpool %s by itself: OpenZFS has timers for it from %s on, before that cron must do it", job, since), nil
}

// masked tells whether somebody has put one of some units out of use, so that it cannot be enabled.
func masked(ctx context.Context, h host.Reader, units ...string) bool {
	return slices.ContainsFunc(units, func(unit string) bool {
		to, err := h.Readlink(ctx, path.Join(unitDirs[0], unit))
		return err == nil && to == "/dev/null"
	})
}

// enabled has a timer of a package run.
func enabled(unit string) change.Act {
	return change.Act{Switch: &change.Switch{On: unit, Exact: true, Patience: 5000,
		Inspect:  change.Inspection{Argv: []string{"systemctl", "show", "-p", "UnitFileState", unit}, Match: `^UnitFileState=(enabled)$`},
		After:    "enabled",
		Do:       []change.Op{{Argv: []string{"systemctl", "enable", "--now", unit}}},
		UndoNone: []change.Op{{Argv: []string{"systemctl", "disable", "--now", unit}}}}}
}

// TrimTimer has the system trim its filesystems each week, by the timer of util-linux, which not every distribution
// enables. The notes say what a person has to set up.
func TrimTimer(ctx context.Context, h host.Reader) (acts []change.Act, notes []string, err error) {
	const unit = "fstrim.timer"
	for _, dir := range unitDirs {
		there, err := host.Exists(ctx, h, path.Join(dir, unit))
		if err != nil {
			return nil, nil, err
		}
		if !there {
			continue
		}
		if masked(ctx, h, unit) {
			return nil, []string{"nothing here trims filesystems by itself: somebody has masked " + unit}, nil
		}
		a := enabled(unit)
		is, err := h.Output(ctx, a.Switch.Inspect.Argv...)
		if err != nil {
			return nil, nil, fmt.Errorf("see whether filesystems are trimmed: %w", err)
		}
		if strings.TrimSpace(string(is)) == "UnitFileState=enabled" {
			return nil, nil, nil
		}
		return []change.Act{a}, nil, nil
	}
	return nil, []string{"nothing here trims filesystems by itself: fstrim in cron would"}, nil
}

// IsNVMe tells whether a device is a disk of NVMe. What cannot be read counts as no.
func IsNVMe(ctx context.Context, h host.Reader, device string) bool {
	st, err := h.Stat(ctx, device)
	return err == nil && st.Mode&fs.ModeDevice != 0 && strings.HasPrefix(path.Base(st.Resolved), "nvme")
}

// Trims tells whether a device can be told which of its blocks are free. What cannot be read counts as no.
func Trims(ctx context.Context, h host.Reader, device string) bool {
	st, err := h.Stat(ctx, device)
	if err != nil || st.Mode&fs.ModeDevice == 0 {
		return false
	}
	to, err := h.Readlink(ctx, fmt.Sprintf("/sys/dev/block/%d:%d", st.RdevMajor, st.RdevMinor))
	if err != nil {
		return false
	}
	for _, name := range []string{path.Base(to), path.Base(path.Dir(to))} { // a partition has no queue of its own
		if most, err := h.ReadFile(ctx, "/sys/class/block/"+name+"/queue/discard_max_bytes"); err == nil {
			return strings.TrimSpace(string(most)) != "0"
		}
	}
	return false
}
