package formula

// TuneD gives the sysctls of Red Hat's profile "postgresql" for PostgreSQL, and of
// "throughput-performance" for a MySQL, which has no profile of its own (TuneD
// 2.28). It leaves the server as it is.
func TuneD(m Machine) Advice {
	a := Advice{Version: "TuneD 2.28"}
	if m.Flavour == "" {
		a.Adviser = "TuneD postgresql"
		a.Host = map[string]string{"vm.dirty_background_bytes": "67108864", "vm.dirty_bytes": "536870912", "vm.swappiness": "3",
			"kernel.sched_autogroup_enabled": "0"}
		a.Notes = []string{"Of TuneD's profile the sysctls are set. Left out: transparent huge pages never, deep sleep of the processors forbidden, " +
			"a readahead of 4 MiB, and the two scheduler settings that are no sysctls since Linux 5.13."}
		return a
	}
	a.Adviser = "TuneD throughput-performance"
	a.Host = map[string]string{"vm.dirty_ratio": "40", "vm.dirty_background_ratio": "10", "vm.swappiness": "10"}
	a.Notes = []string{"Of TuneD's profile the sysctls are set. Left out: the governor of the processors, a readahead of 4 MiB, and net.core.somaxconn, " +
		"which a socket of eight sessions does not feel."}
	return a
}
