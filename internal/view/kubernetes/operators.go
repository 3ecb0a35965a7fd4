package kubernetes

import (
	"slices"

	"plumb/internal/product"
)

// How large volumes are asked for: nobody knows how large they shall be, and every field is wanted.
const (
	dataSize = "100Gi"
	logSize  = "20Gi"
)

// operators writes the part that names volumes of those operators that run the server.
func (w *writer) operators() {
	switch w.Spec.Server.Product {
	case product.MariaDB:
		w.mariadb()
	case product.MySQL, product.Percona:
		w.percona()
	case product.Postgres:
		w.cloudNativePG()
	}
}

// log is the role of what is written one after the other, where it has a class of its own.
func (w *writer) log() string {
	for _, v := range w.Volumes {
		if v.At != "" && slices.Contains([]string{"wal", "log", "redo", "binlog"}, v.Role) {
			return v.Role
		}
	}
	return ""
}

// part begins the part of a resource.
func (w *writer) part(apiVersion, kind string, about ...string) {
	w.WriteString("\n")
	w.comment(append(about, "Set the sizes to what it needs.")...)
	w.WriteString("---\napiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n")
	w.line(2, "name", "yours")
	w.WriteString("spec:\n")
}

// oneVolume says of an operator that it has no volume for logs.
func (w *writer) oneVolume(operator string) string {
	said := operator + " keeps data and logs in one volume, that of the data."
	if w.log() != "" && w.Spec.Filesystem == nil {
		said += " The class " + w.class(w.log()) + " has no use there."
	}
	return said
}

// mariadb is for mariadb-operator (k8s.mariadb.com_mariadbs.yaml of 26.6, July 2026).
func (w *writer) mariadb() {
	w.part("k8s.mariadb.com/v1alpha1", "MariaDB", w.oneVolume("mariadb-operator"),
		"Settings go into spec.myCnf. It says nothing of the kernel, of ZFS's memory, and of O_DIRECT's worth on ZFS: plumb check on the node does.")
	w.WriteString("  storage:\n")
	w.line(4, "size", dataSize)
	w.line(4, "storageClassName", w.class("data"))
}

// percona is for Percona's operators for MySQL (deploy/crd.yaml of 1.2 and later, August 2026, and of 1.19 and later, March 2026).
func (w *writer) percona() {
	for _, o := range []struct{ apiVersion, kind, server, name string }{
		{"ps.percona.com/v1", "PerconaServerMySQL", "mysql", "Percona Operator for MySQL"},
		{"pxc.percona.com/v1", "PerconaXtraDBCluster", "pxc", "Percona Operator for MySQL based on XtraDB Cluster"},
	} {
		w.part(o.apiVersion, o.kind, w.oneVolume(o.name),
			"Settings go into spec."+o.server+".configuration. It says nothing of the kernel and of ZFS's memory: plumb check on the node does.")
		w.WriteString("  " + o.server + ":\n    volumeSpec:\n      persistentVolumeClaim:\n")
		w.line(8, "storageClassName", w.class("data"))
		w.WriteString("        accessModes: [\"ReadWriteOnce\"]\n        resources:\n          requests:\n")
		w.line(12, "storage", dataSize)
	}
}

// cloudNativePG is for CloudNativePG (postgresql.cnpg.io_clusters.yaml of 1.30 and later, August 2026).
func (w *writer) cloudNativePG() {
	about := []string{"Settings go into spec.postgresql.parameters. It says nothing of the kernel and of ZFS's memory: plumb check on the node does.",
		"instances is how many servers there are: each has volumes of its own."}
	if w.log() != "" { // docs/src/storage.md, "Volume for WAL"
		about = append(about, "A cluster that has walStorage once keeps it: CloudNativePG does not take it away again.")
	}
	w.part("postgresql.cnpg.io/v1", "Cluster", about...)
	w.WriteString("  instances: 3\n  storage:\n")
	w.line(4, "size", dataSize)
	w.line(4, "storageClass", w.class("data"))
	if log := w.log(); log != "" {
		w.WriteString("  walStorage:\n")
		w.line(4, "size", logSize)
		w.line(4, "storageClass", w.class(log))
	}
}
