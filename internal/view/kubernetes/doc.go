// Package kubernetes writes what a provision laid out as manifests: a StorageClass for each role, and the
// part of the operators' resources that names volumes. What those cannot say stands in comments.
package kubernetes
