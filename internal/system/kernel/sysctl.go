package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"plumb/internal/stack"
)

// sysctls lists the settings that are read, by the names people write. They
// are declared with their meaning in knowledge/knobs/host.yaml.
func sysctls() []string {
	return []string{
		"vm.swappiness", "vm.dirty_background_bytes", "vm.dirty_bytes", "vm.dirty_background_ratio", "vm.dirty_ratio",
		"vm.dirty_expire_centisecs", "vm.dirty_writeback_centisecs", "vm.overcommit_memory", "vm.overcommit_ratio",
		"vm.overcommit_kbytes", "vm.min_free_kbytes", "vm.watermark_scale_factor", "vm.zone_reclaim_mode",
		"kernel.numa_balancing", "vm.max_map_count", "vm.nr_hugepages", "vm.nr_overcommit_hugepages",
		"vm.hugetlb_shm_group", "vm.vfs_cache_pressure", "vm.page-cluster", "vm.oom_kill_allocating_task",
		"vm.panic_on_oom", "fs.aio-max-nr", "fs.file-max", "fs.nr_open", "kernel.io_uring_disabled",
		"kernel.io_uring_group",
		"kernel.sched_autogroup_enabled",
		"net.core.somaxconn", "net.core.netdev_max_backlog", "net.ipv4.tcp_max_syn_backlog",
		"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
		"net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_tw_reuse", "net.ipv4.tcp_slow_start_after_idle",
		"net.ipv4.tcp_retries2", "net.ipv4.tcp_syncookies", "net.ipv4.ip_local_port_range",
		"net.ipv4.tcp_congestion_control",
	}
}

// factName is the fact of a sysctl: vm.dirty_ratio becomes vm_dirty_ratio.
func factName(sysctl string) string { return strings.NewReplacer(".", "_", "-", "_").Replace(sysctl) }

// sysctlFile is where the kernel shows a sysctl.
func sysctlFile(sysctl string) string { return "/proc/sys/" + strings.ReplaceAll(sysctl, ".", "/") }

// sysctls reads the settings in force and what would set them at the next
// boot.
func (l *look) sysctls() {
	boot := l.bootSettings()
	var changes []string
	for _, name := range sysctls() {
		fact, src := factName(name), sysctlFile(name)
		data, err := l.h.ReadFile(l.ctx, src)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			l.t.SetAbsent(fact, src+": "+unsupported)
			continue
		case err != nil:
			l.gap(err, fact)
			continue
		}
		now := sysctlValue(string(data))
		f := stack.Fact{Value: now, Source: src}
		if set, ok := boot.find(name); ok && boot.complete {
			next := sysctlValue(set.value)
			f.Origin, f.Next = originOf(now, next, set)
			if f.Next != nil {
				changes = append(changes, fmt.Sprintf("%s = %s (now %s), %s", name, next, now, set.where()))
			}
		}
		l.t.Facts[fact] = f
	}
	for _, name := range []string{"fs.aio-nr"} {
		l.integer(factName(name), sysctlFile(name))
	}
	l.overlooked(boot)
	if boot.complete {
		l.t.Set("sysctl_next_boot", stack.List(changes), "sysctl.d")
	}
}

// sysctlValue reads a value as the kernel shows it: a whole number, or words
// with one blank between them.
func sysctlValue(s string) stack.Value {
	words := strings.Join(strings.Fields(s), " ")
	if n, err := strconv.ParseInt(words, 10, 64); err == nil {
		return stack.Int(n)
	}
	return stack.Text(words)
}

// originOf tells who set the value in force, given what the boot files say.
func originOf(now, next stack.Value, set setting) (*stack.Origin, *stack.Next) {
	file := stack.Origin{From: stack.FromFile, File: set.file, Line: set.line}
	if set.file == "" {
		file = stack.Origin{From: stack.FromCommand, Of: "kernel command line"}
	}
	if now.Equal(next) {
		return &file, nil
	}
	// Setting one of a pair zeroes its twin, and a later line that sets the
	// twin does so too; the file still wins at boot, so it is the next value.
	return &stack.Origin{From: stack.FromRuntime}, &stack.Next{Value: next, Origin: file}
}

// overlooked lists what /etc/sysctl.conf sets although nothing reads it at
// boot: systemd reads the .d directories only.
func (l *look) overlooked(boot bootSettings) {
	if !boot.complete {
		return
	}
	names := []string{}
	if boot.ignoresConf {
		for _, s := range boot.conf {
			names = append(names, s.name+" = "+s.value)
		}
	}
	l.t.Set("sysctl_conf_ignored", stack.List(names), "/etc/sysctl.conf")
}
