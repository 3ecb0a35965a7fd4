package mysql

import (
	"strings"

	"plumb/internal/stack"
)

// galera sets the state of a Galera member. A server with the library built
// in but not loaded is none.
func (l *look) galera() {
	provider := l.variables["wsrep_provider"]
	on, _ := Truth(l.variables["wsrep_on"])
	member := on && provider != "" && !strings.EqualFold(provider, "none")
	l.t.Set("galera", stack.Bool(member), "@@wsrep_on, @@wsrep_provider")
	facts := map[string]string{"galera_cluster_status": "wsrep_cluster_status", "galera_state": "wsrep_local_state_comment"}
	counts := map[string]string{"galera_cluster_size": "wsrep_cluster_size", "galera_flow_control_sent": "wsrep_flow_control_sent",
		"galera_cert_failures": "wsrep_local_cert_failures"}
	if !member {
		l.t.Absent("@@wsrep_on, @@wsrep_provider", append(append(names(facts), names(counts)...), "galera_ready", "galera_flow_control_paused", "galera_gcache_size", "galera_written_per_hour",
			"galera_ignores_split_brain", "galera_ignores_quorum", "galera_cluster_weight")...)
		return
	}
	for fact, name := range facts {
		if s, ok := l.status[name]; ok {
			l.t.Set(fact, stack.Text(s), statusQuery)
		}
	}
	l.each(counts, false, stack.Int)
	l.each(map[string]string{"galera_cluster_weight": "wsrep_cluster_weight"}, true, stack.Int) // an older library does not tell
	if b, ok := Truth(l.status["wsrep_ready"]); ok && l.status["wsrep_ready"] != "" {
		l.t.Set("galera_ready", stack.Bool(b), statusQuery)
	}
	if v, ok := typed(l.catalog.Fact("mysql", "galera_flow_control_paused"), l.status["wsrep_flow_control_paused"]); ok {
		l.t.Set("galera_flow_control_paused", v, statusQuery)
	}
	l.providerOptions()
	uptime, ok := l.stat("uptime")
	sent, ok2 := l.stat("wsrep_replicated_bytes")
	got, ok3 := l.stat("wsrep_received_bytes")
	if ok && ok2 && ok3 && uptime >= 60 {
		l.t.Set("galera_written_per_hour", stack.Int(int64(float64(sent+got)*3600/float64(uptime))), statusQuery)
	}
}

// providerOptions sets what counts of the Galera library's own settings.
func (l *look) providerOptions() {
	const source = "@@wsrep_provider_options"
	options := parseProviderOptions(l.variables["wsrep_provider_options"])
	if n, ok := whole(options["gcache.size"]); ok {
		l.t.Set("galera_gcache_size", stack.Int(n), source)
	}
	for fact, name := range map[string]string{"galera_ignores_split_brain": "pc.ignore_sb", "galera_ignores_quorum": "pc.ignore_quorum"} {
		if b, ok := Truth(options[name]); ok && options[name] != "" {
			l.t.Set(fact, stack.Bool(b), source)
		}
	}
}

// parseProviderOptions reads "name = value; name = value; ".
func parseProviderOptions(text string) map[string]string {
	options := map[string]string{}
	for option := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(option, "=")
		options[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return options
}
