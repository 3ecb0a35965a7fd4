// Package load writes what a load measured, as text, as JSON and as sysbench does.
package load
