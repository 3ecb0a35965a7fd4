package point

import (
	"path"
	"slices"
	"strings"

	"plumb/internal/host"
)

// lacks tells which rights in a database a user lacks by what SHOW GRANTS answered; in all of them where the
// database is "". Of a user with roles it is not known.
func lacks(grants host.Rows, database string, rights ...string) (missing []string) {
	var has []string
	for _, row := range grants.Values {
		if len(row) == 0 {
			continue
		}
		given, rest, _ := strings.Cut(strings.TrimPrefix(host.Text(row, 0), "GRANT "), " ON ")
		of, _, granted := strings.Cut(rest, " TO ")
		switch {
		case !granted: // of a role
			return nil
		case of == "*.*", database != "" && covers(of, database):
			for r := range strings.SplitSeq(given, ",") {
				has = append(has, strings.TrimSpace(r))
			}
		}
	}
	for _, r := range rights {
		if !slices.Contains(has, r) && !slices.Contains(has, "ALL PRIVILEGES") {
			missing = append(missing, r)
		}
	}
	return missing
}

// covers tells whether `sh%`.* stands for a database. Names are compared without regard to case: where the
// server does not, it refuses later.
func covers(of, database string) bool {
	name, ok := strings.CutSuffix(of, ".*")
	if !ok || len(name) < 2 || name[0] != '`' {
		return false
	}
	name = strings.ReplaceAll(name[1:len(name)-1], "``", "`")
	var pattern strings.Builder // of package path
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '\\' && i+1 < len(name) && strings.IndexByte(`_%\`, name[i+1]) >= 0:
			i++
			pattern.WriteString(`\` + name[i:i+1])
		case c == '%':
			pattern.WriteByte('*')
		case c == '_':
			pattern.WriteByte('?')
		case strings.IndexByte(`*?[\`, c) >= 0:
			pattern.WriteString(`\` + string(c))
		default:
			pattern.WriteByte(c)
		}
	}
	match, err := path.Match(strings.ToLower(pattern.String()), strings.ToLower(strings.ReplaceAll(database, "/", "\x01")))
	return err == nil && match
}
