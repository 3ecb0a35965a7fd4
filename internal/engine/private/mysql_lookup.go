package private

// Lookup implements lab.Engine.
func (mysqlEngine) Lookup(effective map[string]string, setting string) (value string, known bool) {
	key := mysqlName(setting)
	if v, ok := effective[key]; ok {
		return v, true
	}
	v, ok := effective[alias(key)]
	return v, ok
}

// alias is another name of a setting: of an option that is called differently
// from its variable, or of a variable that was renamed.
func alias(key string) string {
	return map[string]string{
		"transaction_isolation": "tx_isolation", // MariaDB's variable before 11.1; the option was always called so
		"tx_isolation":          "transaction_isolation",
		"transaction_read_only": "tx_read_only",
		"tx_read_only":          "transaction_read_only",
		"default_time_zone":     "time_zone",
		"default_character_set": "character_set_server",
		"character_set":         "character_set_server",
		"log_slow_query":        "slow_query_log",
		"storage_engine":        "default_storage_engine",
		"table_cache":           "table_open_cache",
	}[key]
}
