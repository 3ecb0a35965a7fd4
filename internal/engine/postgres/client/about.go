package client

import (
	"context"
	"net"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/reach"
	"plumb/internal/load"
)

// settings decide durability and memory, and what else moves a result.
const settings = "synchronous_commit fsync full_page_writes wal_sync_method wal_level wal_compression shared_buffers " +
	"max_wal_size checkpoint_timeout checkpoint_completion_target wal_buffers work_mem effective_cache_size huge_pages " +
	"max_connections autovacuum jit synchronous_standby_names data_checksums io_method"

// About implements load.Server.
func (s *Server) About(ctx context.Context) (load.About, error) {
	a, err := s.Admin(ctx)
	if err != nil {
		return load.About{}, err
	}
	defer a.Close()
	names := strings.Fields(settings)
	rows, err := a.Query(ctx, "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('server_version', "+
		"'default_transaction_isolation', '"+strings.Join(names, "', '")+"')")
	if err != nil {
		return load.About{}, err
	}
	value := map[string]string{}
	for _, row := range rows.Values {
		value[host.Text(row, 0)] = host.Text(row, 1)
	}
	about := load.About{Product: "PostgreSQL", Version: value["server_version"], Address: s.c.Address, Database: s.c.Database,
		Isolation: strings.ToUpper(value["default_transaction_isolation"]), Local: s.local()}
	for _, name := range names {
		if v, ok := value[name]; ok {
			about.Settings = append(about.Settings, load.Setting{Name: name, Value: v})
		}
	}
	return about, nil
}

// local reports whether the address is one of this machine.
func (s *Server) local() bool {
	if s.c.Network == "unix" {
		return true
	}
	name, _, err := net.SplitHostPort(s.c.Address)
	return err == nil && reach.IsLocal(name)
}
