package kernel

import (
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/host/osrelease"
	"plumb/internal/host/proc"
	"plumb/internal/stack"
)

// release reads which system, kernel and C library the host has.
func (l *look) release() {
	system, file, _ := osrelease.Read(l.ctx, l.h) // small systems have none
	if name := system["PRETTY_NAME"]; name != "" {
		l.t.Set("os", stack.Text(name), file)
	}
	if id := system["ID"]; id != "" {
		l.t.Set("os_id", stack.Text(id), file)
	}
	release := l.word("/proc/sys/kernel/osrelease")
	if release != "" {
		l.t.Set("kernel", stack.Text(release), "/proc/sys/kernel/osrelease")
	}
	l.upstream(release)
	l.arch()
	if data, ok := l.read("/proc/cmdline", "boot_parameters"); ok {
		l.t.Set("boot_parameters", stack.List(parseBootParameters(data)), "/proc/cmdline")
	}
	if up, known := proc.Uptime([]byte(l.word("/proc/uptime"))); known {
		l.t.Set("uptime", stack.Int(int64(up)), "/proc/uptime")
	}
	const libc = "getconf GNU_LIBC_VERSION"
	out, err := l.h.Output(l.ctx, "getconf", "GNU_LIBC_VERSION")
	if v := strings.TrimSpace(string(out)); err == nil && strings.HasPrefix(v, "glibc ") {
		l.t.Set("libc", stack.Text(v), libc)
	} else if err != nil {
		l.gap(err, "libc")
	}
}

func first(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

func (l *look) arch() {
	const from = "/proc/sys/kernel/arch" // since Linux 6.1
	if a := l.word(from); a != "" {
		l.t.Set("arch", stack.Text(a), from)
		return
	}
	out, err := l.h.Output(l.ctx, "uname", "-m")
	if err != nil {
		l.gap(err, "arch")
		return
	}
	l.t.Set("arch", stack.Text(strings.TrimSpace(string(out))), "uname -m")
}

// upstream finds which kernel.org release the kernel is built from. Known
// faults and cures are told by that number; a distribution's own number says
// little, and a Red Hat kernel has no such release: it collects changes of
// many.
func (l *look) upstream(release string) {
	version := l.word("/proc/version")
	signature := l.word("/proc/version_signature")
	v, src, known := parseUpstream(release, version, signature)
	switch {
	case v != "":
		l.t.Set("kernel_upstream", stack.Text(v), src)
	case known:
		l.t.SetAbsent("kernel_upstream", "a kernel with changes from many releases")
	default:
		l.obs.Gap(l.t.Ref, "the distribution does not say which kernel.org release "+release+" is built from", "", "kernel_upstream")
	}
}

// parseUpstream reads the kernel.org release from what the distributions
// tell; v is "" with known true when there is none.
func parseUpstream(release, version, signature string) (v, src string, known bool) {
	if f := strings.Fields(signature); len(f) == 3 && f[0] == "Ubuntu" {
		if v, ok := dotted(f[2]); ok {
			return v, "/proc/version_signature", true
		}
	}
	if _, rest, ok := strings.Cut(version, " Debian "); ok {
		if v, ok := dotted(first(rest)); ok {
			return v, "/proc/version", true
		}
	}
	// el: Red Hat and its kin; 5.14.21-150x: SUSE Linux Enterprise.
	if strings.Contains(release, ".el") || strings.Contains(release, "-1505") || strings.Contains(release, "-1506") || strings.Contains(release, "-1507") {
		return "", "", true
	}
	v, ok := dotted(release)
	if !ok || strings.Count(v, ".") < 2 {
		return "", "", false
	}
	if strings.HasSuffix(v, ".0") && strings.Contains(release, "-") {
		return "", "", false // an ABI name such as 6.8.0-45-generic
	}
	return v, "/proc/sys/kernel/osrelease", true
}

// dotted takes the number at the beginning of a release: 6.1.119 of
// 6.1.119-1.
func dotted(s string) (string, bool) {
	s = catalog.Numbers(s)
	return s, strings.Contains(s, ".")
}

// parseBootParameters picks the kernel's arguments that bear on a database.
func parseBootParameters(cmdline []byte) []string {
	matter := []string{
		"transparent_hugepage", "hugepages", "hugepagesz", "default_hugepagesz", "numa_balancing", "numa",
		"mitigations", "psi", "elevator", "scsi_mod.use_blk_mq", "intel_idle.max_cstate", "processor.max_cstate",
		"idle", "intel_pstate", "amd_pstate", "clocksource", "tsc", "preempt", "cgroup_disable",
		"swapaccount", "systemd.unified_cgroup_hierarchy", "isolcpus", "nohz_full", "mem", "maxcpus", "nosmt",
		"zswap.enabled", "cgroup_no_v1", "nvme_core.io_timeout", "nvme_core.default_ps_max_latency_us",
	}
	out := []string{}
	for word := range strings.FieldsSeq(string(cmdline)) {
		if word == "--" {
			break // what follows is for init
		}
		name, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(name, "sysctl.") {
			out = append(out, word)
			continue
		}
		for _, m := range matter {
			if name == m {
				out = append(out, word)
			}
		}
	}
	return out
}
