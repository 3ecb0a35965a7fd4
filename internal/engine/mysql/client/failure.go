package client

import (
	"errors"
	"slices"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/load"
)

// gone are the errors after which the session is over: the server stops, the
// connection was killed or timed out, or could not be read.
var gone = []uint16{1053, 1079, 1152, 1158, 1159, 1160, 1161, 1927, 2006, 2013, 3169, 4031}

// failure makes what the engine of load is told.
func (s *Server) failure(code uint16, message, query string) *load.Failure {
	f := &load.Failure{Class: load.Fatal, Code: strconv.Itoa(int(code)), Message: message, Doing: load.Short(query)}
	switch {
	case slices.Contains(gone, code):
		f.Class = load.Lost
	case slices.Contains(s.c.RetryCodes, f.Code):
		f.Class = load.Retry
	}
	return f
}

// failed makes a failure of an error of the driver.
func (s *Server) failed(err error, query string) error {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return s.failure(e.Number, e.Message, query)
	}
	f := &load.Failure{Class: load.Fatal, Doing: load.Short(query), Err: err}
	if brokenLine(err) {
		f.Class = load.Lost
	}
	return f
}
