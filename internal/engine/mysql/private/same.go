package private

import (
	"math"
	"strconv"
	"strings"
)

// Lookup implements lab.Engine.
func (Engine) Lookup(effective map[string]string, setting string) (value string, known bool) {
	key := canonical(setting)
	for _, name := range append([]string{key}, aliases(key)...) {
		if v, ok := effective[name]; ok {
			return v, true
		}
	}
	return "", false
}

// aliases are other names of a setting: options that are called differently
// from the variable, and variables that were renamed.
func aliases(key string) []string {
	switch key {
	case "transaction_isolation": // MariaDB's variable before 11.1, its option always
		return []string{"tx_isolation"}
	case "tx_isolation":
		return []string{"transaction_isolation"}
	case "transaction_read_only":
		return []string{"tx_read_only"}
	case "tx_read_only":
		return []string{"transaction_read_only"}
	case "default_time_zone":
		return []string{"time_zone"}
	case "default_character_set", "character_set":
		return []string{"character_set_server"}
	case "log_slow_query":
		return []string{"slow_query_log"}
	case "storage_engine":
		return []string{"default_storage_engine"}
	case "table_cache":
		return []string{"table_open_cache"}
	}
	return nil
}

// Same implements lab.Engine: it compares as the server reads its option file.
func (Engine) Same(setting, asked, effective string) bool {
	asked, effective = strings.TrimSpace(asked), strings.TrimSpace(effective)
	if strings.EqualFold(asked, effective) {
		return true
	}
	if key := canonical(setting); key == "log_bin" {
		on, word := truth(effective)
		return word && on == binlog(asked)
	}
	want, isNumber := number(asked)
	have, isToo := number(effective)
	if isNumber && isToo {
		return want == have
	}
	if a, word := truth(asked); word {
		b, word := truth(effective)
		return word && a == b
	}
	return false
}

// truth reads the words for on and off.
func truth(text string) (on, word bool) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "ON", "1", "YES", "TRUE":
		return true, true
	case "OFF", "0", "NO", "FALSE":
		return false, true
	}
	return false, false
}

// number reads a number with the suffixes of option files: K, M, G, T, P, E.
func number(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 64 {
		return 0, false
	}
	factor := 1.0
	if i := strings.IndexByte("KMGTPE", text[len(text)-1]&^0x20); i >= 0 {
		factor = math.Ldexp(1, 10*(i+1))
		text = text[:len(text)-1]
	}
	if strings.Trim(text, "0123456789.+-eE") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n * factor, err == nil && !math.IsInf(n, 0)
}
