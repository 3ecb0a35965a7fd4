package rule_test

import (
	"regexp"
	"strings"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/rule"
)

// otherwise has the rules whose conditions say in another way that a server has the setting, and how.
var otherwise = map[string]string{
	"mysql/redo-too-small": "without innodb_redo_log_capacity there is innodb_log_file_size",
}

// TestEmbeddedRemediesSetWhatTheServerHas: a server does not start with a setting that it does not have. So a remedy that sets what
// only some versions have asks for its value: where there is none, the rule or the remedy is for others.
func TestEmbeddedRemediesSetWhatTheServerHas(t *testing.T) {
	cat, blind := hosttest.Catalog(t), map[string]bool{}
	for _, r := range embedded(t).Rules() {
		kinds := map[string]string{"host": "host"}
		for _, b := range r.For {
			kinds[b.Var] = b.Kind
		}
		for _, m := range r.Written() {
			of, name, sets := strings.Cut(m.Knob, "#")
			if !sets || cat.Fact(kinds[of], name).Knob.Versions == nil {
				continue
			}
			if !regexp.MustCompile(`\b` + of + `\.` + name + `\b`).MatchString(r.When + " " + m.If + " " + m.To) {
				blind[r.ID] = true
			}
		}
	}
	for id := range blind {
		if otherwise[id] == "" {
			t.Errorf("%s sets what only some versions have, and does not ask for its value", id)
		}
	}
	for id := range otherwise {
		if !blind[id] {
			t.Errorf("%s needs no exception", id)
		}
	}
}

// TestEmbeddedRemediesSuitTheServer: what a person is told to do is what that server takes. Each line is an example of a rule, what
// its advice says, and what it must not say.
func TestEmbeddedRemediesSuitTheServer(t *testing.T) {
	base := embedded(t)
	for _, c := range []struct{ id, example, says, not string }{
		{"mysql/replica-commit-order", "old_name", "slave_parallel_type = 'LOGICAL_CLOCK'", "REPLICA"}, // the applier does not start with DATABASE
		{"mysql/replica-commit-order", "off", "replica_parallel_type = 'LOGICAL_CLOCK'", "slave"},
		{"mysql/replica-commit-order", "one_type", "SET GLOBAL replica_preserve_commit_order = ON", "parallel_type"},
		{"mysql/xa-forgotten", "forgotten", "XA RECOVER CONVERT XID", "FORMAT"},
		{"mysql/xa-forgotten", "mariadb", "XA RECOVER FORMAT='SQL'", "CONVERT"},
		{"mysql/undo-not-truncated", "grows", "restart", "upgrade"},
		{"mysql/undo-not-truncated", "before_10_11", "after an upgrade to MariaDB 10.11", "restart"},
		{"mysql/semi-sync-after-commit", "mariadb_default", "wait_point = AFTER_SYNC", "promoting"},
		{"mysql/semi-sync-after-commit", "binlog_in_innodb", "instead of promoting a replica", "SET GLOBAL"}, // which the server refuses
		{"mysql/group-majority-lost", "alone_of_three", "force_members", "STOP GROUP_REPLICATION"},
		{"mysql/group-majority-lost", "left_after_an_error", "START GROUP_REPLICATION", "force_members"}, // there is no view to force
		{"cross/mysql-binlog-never-expires", "mariadb_11_4", "2592000\n\n0", ""},                         // an age alone removes nothing there
		{"cross/mysql-binlog-never-expires", "has_a_replica", "2592000", "\n0"},
		{"cross/mysql-binlog-never-expires", "mysql_without_purge", "2592000\n\non", ""},
		{"cross/postgres-effective-io-concurrency", "seen", "200", "45"},
		{"cross/postgres-effective-io-concurrency", "before_13", "45", "200"}, // which would be 1,176 pages there
		{"postgres/data-checksums-off", "seen", "with the server stopped", "standbys"},
		{"postgres/data-checksums-off", "has_standbys", "stop the primary and all its standbys", ""},
		{"postgres/data-checksums-off", "standby", "stop the primary and all its standbys", ""},
	} {
		said := advice(base, c.id, c.example)
		if !strings.Contains(said, c.says) || c.not != "" && strings.Contains(said, c.not) {
			t.Errorf("%s (%s): %q; want %q, without %q", c.id, c.example, said, c.says, c.not)
		}
	}
}

// advice gives what the example of a rule is told to do.
func advice(base *rule.Base, id, example string) string {
	var said []string
	for _, r := range base.Rules() {
		for _, x := range r.Examples {
			if r.ID == id && x.Name == example {
				for _, m := range r.Try(x).Remedies {
					said = append(said, m.Do, m.To.String()) // one of them is what is told
				}
			}
		}
	}
	return strings.Join(said, "\n")
}
