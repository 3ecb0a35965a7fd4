package client

import (
	"context"
	"strings"

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
	value, settings := load.Values(rows, names)
	about := load.About{Product: "PostgreSQL", Version: value["server_version"], Address: s.c.Address, Database: s.c.Database,
		Isolation: strings.ToUpper(value["default_transaction_isolation"]), Local: reach.IsLocal(s.c.Network, s.c.Address), Settings: settings}
	return about, nil
}
