package redact

import (
	"regexp"
	"strings"
)

// Statements of SQL that set passwords, as in process lists, logs of slow
// queries and init files.
var (
	sqlIdentified = regexp.MustCompile(`(?i)\bidentified\b`)
	sqlBy         = regexp.MustCompile(`(?i)\b(by|as|using)\b`)
	sqlPassword   = regexp.MustCompile(`(?i)(?:^|[^'"` + "`" + `\w.-])password\s*\(?\s*(?:E|U&)?['"$]`)
	sqlSet        = regexp.MustCompile(`(?is)\bset\s+password\b[^=]*=`)
	sqlReplace    = regexp.MustCompile(`(?i)^\s*replace\s+`)
)

// statements redacts the passwords in SQL.
func statements(s string) string {
	lower := strings.ToLower(s)
	if strings.Contains(lower, "identified") {
		s = redactAfter(s, sqlIdentified, sqlBy)
	}
	if strings.Contains(lower, "password") {
		s = redactAfter(s, sqlSet, nil)
		s = redactAfter(s, sqlPassword, nil)
	}
	return s
}

// redactAfter redacts the strings that follow each match of begin and, if
// given, of then behind it.
func redactAfter(s string, begin, then *regexp.Regexp) string {
	var b strings.Builder
	for {
		loc := begin.FindStringIndex(s)
		if loc == nil {
			break
		}
		at := loc[1]
		if then != nil {
			by := then.FindStringIndex(s[at:])
			if by == nil {
				break
			}
			at += by[1]
		} else if at > loc[0] && strings.IndexByte(`'"$`, s[at-1]) >= 0 {
			at-- // the quote belongs to the string
		}
		end := sqlSecretEnd(s, at)
		if more := sqlReplace.FindStringIndex(s[end:]); more != nil {
			end = sqlSecretEnd(s, end+more[1])
		}
		b.WriteString(s[:at])
		if strings.TrimSpace(s[at:end]) != "" {
			if s[at] == ' ' {
				b.WriteByte(' ')
			}
			b.WriteString("'" + Mark + "'")
		}
		s = s[end:]
	}
	b.WriteString(s)
	return b.String()
}

// sqlSecretEnd finds the end of the string at or soon after i: its closing
// quote, or the end of the text if it is not plain where that is.
func sqlSecretEnd(s string, i int) int {
	j := i
	for j < len(s) && s[j] != '\'' && s[j] != '"' {
		if s[j] == ';' || s[j] == '$' || s[j] == '\n' {
			return sqlOdd(s, i, j)
		}
		j++
	}
	if j == len(s) {
		return len(s)
	}
	end, ok := quoteEnd(s, j+1, s[j])
	if !ok {
		return len(s)
	}
	return end + 1
}

// sqlOdd ends a secret without quotes: at the statement's end, but a string
// between dollar signs goes on to the end of the text.
func sqlOdd(s string, i, j int) int {
	if s[j] == '$' {
		return len(s)
	}
	return max(i, j)
}
