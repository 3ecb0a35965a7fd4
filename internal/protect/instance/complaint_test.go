package instance

import "testing"

// The logs are of a MariaDB 10.11.19 and a PostgreSQL 15.18 whose port was taken.
func TestComplaints(t *testing.T) {
	for log, want := range map[string]string{
		"": "",
		"  0 [Note] InnoDB: Using io_uring\n0 [Note] ready\n": "0 [Note] InnoDB: Using io_uring\n0 [Note] ready",
		"0 [Note] InnoDB: Using io_uring\n0 [Warning] unknown variable\n0 [ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use\n0 [ERROR] Aborting\n":                                                                                                                                         "0 [ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in use\n0 [ERROR] Aborting",
		"0 [Warning] Could not increase number of max_open_files\nmariadbd: Please consult the MariaDB Documentation to find out how to run mariadbd as root!\n0 [ERROR] Aborting\n":                                                                                                                                            "mariadbd: Please consult the MariaDB Documentation to find out how to run mariadbd as root!\n0 [ERROR] Aborting",
		"LOG:  starting PostgreSQL 15.18\nHINT:  of nothing\nLOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use\nHINT:  Is another postmaster already running on port 54991?\nWARNING:  could not create listen socket\nFATAL:  could not create any TCP/IP sockets\nLOG:  database system is shut down\n": "LOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use\nHINT:  Is another postmaster already running on port 54991?\nFATAL:  could not create any TCP/IP sockets",
	} {
		if got := complaints(log); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
