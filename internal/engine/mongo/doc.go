// Package mongo reads MongoDB 4.4 to 8: options, parameters, serverStatus,
// hostInfo and replica set state; it sets what setParameter and mongod.conf set.
//
// The package registries the tests use have no mongod. Tests on a real one run
// where there is one (PLUMB_MONGOD names it); they have met 4.4.0. What is said
// of later releases rests on documents written from MongoDB's documentation.
package mongo
