// Package dsn tells which engine a data source name is for, and reads it: for
// those who look at the server, and for those who put it under load.
package dsn
