package point

import (
	"path"
	"strings"

	"plumb/internal/host/paths"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// Aside implements protect.Engine.
func (*Engine) Aside(s *stack.Stack, sv protect.Server, file string) bool {
	db := s.Find(sv.Ref)
	if db == nil {
		return false
	}
	text := func(name string) string {
		v, _ := db.Get(name)
		out, _ := v.Text()
		return out
	}
	data := path.Clean("/" + text("datadir"))
	at := func(name string) string {
		p := text(name)
		if p != "" && !path.IsAbs(p) {
			p = path.Join(data, p)
		}
		return p
	}
	for _, name := range []string{"log_error", "general_log_file", "slow_query_log_file", "log_slow_query_file", "pid_file", "socket", "mysqlx_socket", "server_audit_file_path",
		"audit_log_file"} {
		if p := at(name); p != "" && (p == file || path.Clean(p) == file) {
			return true
		}
	}
	base := path.Base(file)
	if strings.HasPrefix(base, "ibtmp") || strings.HasPrefix(base, "temp_") && strings.Contains(file, "/#innodb_temp/") || strings.HasSuffix(base, ".err") {
		return true // made anew by every start, or read by people
	}
	return temporary(s, sv, file)
}

// temporary tells whether a file lies in a directory for temporary files, and in
// none of the server's own.
func temporary(s *stack.Stack, sv protect.Server, file string) bool {
	for _, d := range sv.Dirs {
		if paths.Within(file, d.Path) {
			return false
		}
	}
	for _, r := range s.Roles {
		if r.DB == sv.Ref && (r.Name == "temporary" || r.Name == "log") && (paths.Within(file, r.Path) || paths.Within(file, r.Resolved)) {
			return true
		}
	}
	return false
}
