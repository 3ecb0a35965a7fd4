package redact

import (
	"slices"
	"strings"
	"unicode"
)

// secretKey reports whether a setting, option, column or variable of this
// name holds a secret. Many names speak of passwords without holding one:
// how long they live, how they are hashed, which file they are in.
func secretKey(name string) bool {
	words := keyWords(name)
	if len(words) == 0 {
		return false
	}
	joined := strings.Join(words, "_")
	for _, prefix := range []string{"loose_", "maximum_", "com_"} {
		if rest, ok := strings.CutPrefix(joined, prefix); ok {
			if prefix == "com_" {
				return false
			}
			joined = rest
		}
	}
	if harmless(joined, words[len(words)-1]) {
		return false
	}
	for _, part := range []string{"password", "passwd", "passphrase", "sst_auth", "credential", "secret", "bindpw",
		"filekey", "apikey", "authentication_string"} {
		if strings.Contains(joined, part) {
			return true
		}
	}
	for _, end := range []string{"token", "access_key", "access_key_id", "api_key", "account_key", "encryption_key", "encrypt_key", "private_key"} {
		if joined == end || strings.HasSuffix(joined, "_"+end) {
			return true
		}
	}
	// mysql takes --pass for --password.
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"pwd", "pass", "passw", "passwo", "passwor"}, strings.TrimRight(w, "0123456789"))
	})
}

// harmless knows the names that speak of secrets and hold none.
func harmless(joined, last string) bool {
	for _, prefix := range []string{"validate_password", "simple_password_check", "cracklib_password", "caching_sha2_password",
		"sha256_password", "mysql_native_password", "mysql_old_password", "mysql_clear_password", "mysql_cleartext",
		"disconnect_on_expired_password", "old_passwords", "passwordcheck", "password_encryption", "password_history",
		"password_reuse", "password_require", "password_expire", "password_last", "password_lock", "password_lifetime"} {
		if strings.HasPrefix(joined, prefix) {
			return true
		}
	}
	switch last {
	case "file", "path", "dir", "directory", "plugin", "policy", "lifetime", "history", "interval", "length", "count", "check",
		"encryption", "errors", "reload", "expired", "changed", "location", "timeout", "enabled", "required", "rounds", "keys",
		"dictionary", "warnings", "validation", "users", "size", "date", "days", "age", "format", "algorithm":
		return true
	}
	return false
}

// keyWords divides a name at dashes, dots, underscores and inner capitals.
func keyWords(name string) []string {
	var b strings.Builder
	var before rune
	for _, c := range name {
		if unicode.IsUpper(c) && unicode.IsLower(before) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
		before = c
	}
	return strings.FieldsFunc(b.String(), func(c rune) bool {
		return c != '$' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
}

// mayHold reports whether a text can hold a secret at all. Most does not, and
// is then left alone at once.
func mayHold(s string) bool {
	lower := strings.ToLower(s)
	for _, sign := range []string{"pass", "pwd", "secret", "token", "credential", "_auth", "-auth", "key", "bindpw", "://", "identified",
		" -p", "@tcp(", "@unix(", "bearer", "authorization", "curl", "-----begin", "authentication",
		"p=", "sig=", "signature=", "openssl", "lftp", "smb", "rpcclient", "zip", "7z", "rar", "redis-cli", "valkey-cli", "keydb-cli", "ldap", "sqlcmd", "bcp"} {
		if strings.Contains(lower, sign) {
			return true
		}
	}
	return false
}
