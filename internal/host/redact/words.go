package redact

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// redactAddresses takes the password out of scheme://user:password@host and
// of user:password@tcp(host). The last "@" of a word counts, because
// passwords with one are pasted without escaping it.
func redactAddresses(s string) string {
	if !strings.Contains(s, "://") && !strings.Contains(s, "@tcp(") && !strings.Contains(s, "@unix(") {
		return s
	}
	var b strings.Builder
	for s != "" {
		end := strings.IndexAny(s, " \t\"'`<>\n")
		if end < 0 {
			end = len(s)
		}
		b.WriteString(redactAddress(s[:end]))
		s = s[end:]
		if s != "" {
			b.WriteByte(s[0])
			s = s[1:]
		}
	}
	return b.String()
}

func redactAddress(word string) string {
	from := 0
	at := -1
	if i := strings.Index(word, "://"); i >= 0 {
		from = i + 3
		at = strings.LastIndexByte(word, '@')
	} else {
		for _, sign := range []string{"@tcp(", "@unix("} {
			at = max(at, strings.LastIndex(word, sign))
		}
		if i := strings.LastIndexByte(word[:max(at, 0)], '='); i >= 0 && strings.IndexByte(word[:i], ':') < 0 {
			from = i + 1 // DSN=user:password@tcp(…)
		}
	}
	if at <= from {
		return word
	}
	colon := strings.IndexByte(word[from:at], ':')
	if colon < 0 || from+colon+1 == at {
		return word
	}
	return word[:from+colon+1] + Mark + word[at:]
}

// takesP are the programs for which -pSECRET is a password; the second list
// takes it as the next word.
func takesP(program string) (attached, next bool) {
	base := strings.ToLower(path.Base(strings.Trim(program, `"'`)))
	for _, name := range []string{"mysql", "mariadb", "mydumper", "myloader", "xtrabackup", "mariabackup", "innobackup", "pt-", "percona", "proxysql"} {
		if strings.HasPrefix(base, name) {
			return true, false
		}
	}
	if strings.HasPrefix(base, "mongo") || base == "sshpass" {
		return true, true
	}
	return false, false
}

// redactWords redacts -pSECRET, curl -u user:password and "Bearer token" in
// a line that may hold commands.
func redactWords(s string) string {
	lower := strings.ToLower(s)
	if !namesTool(lower) && !strings.Contains(s, "-p") && !strings.Contains(s, "-Bp") && !strings.Contains(lower, "curl") && !strings.Contains(lower, "bearer") && !strings.Contains(lower, "authorization") && !shortBundle.MatchString(s) {
		return s
	}
	var b strings.Builder
	var attached, next, curl bool
	before := ""
	var tool toolLine
	for s != "" {
		n := skipSpace(s, 0)
		b.WriteString(s[:n])
		s = s[n:]
		end := wordEnd(s)
		word := s[:end]
		s = s[end:]
		lead := len(word) - len(strings.TrimLeft(word, `"'`))
		masked, flag := tool.mask(strings.Trim(word, `"'`), before)
		tool.watch(strings.Trim(word, `"'`))
		switch bare := word[lead:]; {
		case flag:
			if end := word[len(word)-1:]; lead == 0 && isQuote(end[0]) { // it ends what an earlier word began
				masked += end
			}
			word = masked
		case attached && shortBundle.MatchString(bare):
			word = word[:lead] + shortBundle.FindStringSubmatch(bare)[1] + Mark
		case next && before == "-p" && bare != "" && !strings.HasPrefix(bare, "-"),
			curl && slices.Contains([]string{"-u", "--user", "--proxy-user", "-U"}, before) && strings.Contains(bare, ":"),
			slices.Contains([]string{"bearer", "authorization:basic"}, strings.ToLower(before)) && bare != "":
			word = Mark
		default:
			a, n := takesP(word)
			attached, next = attached || a, next || n
			curl = curl || strings.HasPrefix(strings.ToLower(path.Base(bare)), "curl")
		}
		if strings.EqualFold(word, "basic") && strings.HasSuffix(strings.ToLower(before), "authorization:") {
			before = "authorization:basic"
		} else {
			before = strings.Trim(word, `"'`)
		}
		b.WriteString(word)
	}
	return b.String()
}

// shortBundle is -pSECRET, also behind flags without a value: -BNpSECRET.
var shortBundle = regexp.MustCompile(`(?s)^(-[ABCEGHLNUVWXcfinqrstv]*p).+$`)

// wordEnd finds the end of a shell word, with its quotes.
func wordEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ' || c == '\t':
			return i
		case c == '\\':
			i++
		case isQuote(c) && i > 0:
			if end, ok := quoteEnd(s, i+1, c); ok {
				i = end
			}
		}
	}
	return len(s)
}
