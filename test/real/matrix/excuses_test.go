package matrix

import (
	"slices"
	"strings"

	"plumb/internal/catalog"
)

// Excuse is a difference that is right as it is. The catalogue has one value
// for all releases of a product; what it says of the others in words only is
// held to those words.
type Excuse struct {
	Flavor string
	Knob   string
	Point  Point
	Doc    string // what the knob's doc must say; "" when there is nothing to tell a reader
	Why    string
}

// Excuses are all that are known.
func Excuses() []Excuse {
	return slices.Concat(ofPostgres(), ofMariaDB(), ofMySQL())
}

func ofPostgres() []Excuse {
	const of = "postgres"
	return []Excuse{
		{of, "data_checksums", Default, "initdb turns them on since 18", "off is compiled in"},
		{of, "transaction_isolation", Default, "", "a session's own; before 12 its default had the name default"},
		{of, "log_connections", Type, "default off before 18", "a switch until 17, a list of words since"},
		{of, "wal_compression", Type, "lz4 and zstd since 15", "a switch until 14, which on and off are in both"},
	}
}

func ofMariaDB() []Excuse {
	const of = "mariadb"
	return []Excuse{
		{of, "innodb_numa_interleave", Missing, "only in builds with libnuma", ""},
		{of, "ssl", Missing, "", "an option without a variable"},
		{of, "skip_host_cache", Missing, "", "an option without a variable"},
		{of, "character_set_client_handshake", Missing, "", "an option without a variable"},
		{of, "transaction_isolation", Missing, "before MariaDB 11.1 an option only", ""},
		{of, "port", Default, "", "0 stands for 3306, which the server shows"},
		{of, "innodb_io_capacity_max", Default, "twice innodb_io_capacity when that is set", "the largest number stands for one that is not set"},
		{of, "innodb_log_group_home_dir", Default, "", "nothing stands for the data directory, which the server shows as ./"},
		{of, "innodb_adaptive_hash_index", Type, "", "a switch here; to the catalogue a word"},
		{of, "old_passwords", Type, "", "a switch here, a number in MySQL 5.7"},
		{of, "innodb_read_io_threads", Effect, "MariaDB 10.11 changes it without a restart", ""},
		{of, "innodb_write_io_threads", Effect, "MariaDB 10.11 changes it without a restart", ""},
		{of, "innodb_purge_threads", Effect, "MariaDB 10.11 changes it without a restart", ""},
		{of, "relay_log_recovery", Effect, "MariaDB changes it without a restart", ""},
		{of, "binlog_space_limit", Effect, "MariaDB changes it without a restart", ""},
		{of, "wsrep_cluster_address", Effect, "", "setting it leaves the cluster and joins another: not while it runs"},
		{of, "wsrep_provider_options", Effect, "", "some of its options need a restart"},
		{of, "innodb_doublewrite", Type, "fast since MariaDB 11.0.6", "a switch before"},
		{of, "innodb_doublewrite", Effect, "MariaDB between all values since 11.0.6", ""},
		{of, "innodb_log_buffer_size", Effect, "needs a restart on 5.7 and MariaDB", ""},
		{of, "innodb_log_file_size", Effect, "dynamic on MariaDB since 10.9", ""},
	}
}

func ofMySQL() []Excuse {
	const of = "mysql"
	return []Excuse{
		{of, "rpl_semi_sync_source_enabled", Missing, "only with the plugin semisync_source", "not loaded"},
		{of, "rpl_semi_sync_source_timeout", Missing, "only with the plugin semisync_source", "not loaded"},
		{of, "innodb_doublewrite", Effect, "MySQL changes between ON and DETECT_ONLY without a restart", "between others not"},
		{of, "innodb_log_write_ahead_size", Effect, "8192 on MySQL, which changes it without a restart", ""},
		{of, "thread_pool_size", Missing, "on MySQL only with the plugin thread_pool", "not loaded"},
	}
}

// Excused leaves the findings that no excuse covers. An excuse whose words are
// gone from the doc covers nothing.
func Excused(knobs map[string]*catalog.Fact, flavor string, found []Finding, excuses []Excuse) (left []Finding) {
	for _, f := range found {
		covered := slices.ContainsFunc(excuses, func(e Excuse) bool {
			return e.Flavor == flavor && e.Knob == f.Knob && e.Point == f.Point &&
				(e.Doc == "" || knobs[f.Knob] != nil && strings.Contains(knobs[f.Knob].Doc, e.Doc))
		})
		if !covered {
			left = append(left, f)
		}
	}
	return left
}
