// Package mongo reads MongoDB 4.4 to 8: options, parameters, serverStatus,
// hostInfo and replica set state; it sets what setParameter and mongod.conf set.
//
// No MongoDB server can be had from the package registries the tests use, so
// its facts rest on documents written from MongoDB's documentation, and the
// wire on a compatible server; the tests say which.
package mongo
