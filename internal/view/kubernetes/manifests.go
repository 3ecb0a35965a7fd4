package kubernetes

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
)

// Layout is what is written.
type Layout struct {
	Spec    spec.Spec
	Volumes []provision.Volume // by role, with the properties that the rules give them
	At      string             // where the filesystem of the spec is mounted
}

// writer gathers documents.
type writer struct {
	Layout
	strings.Builder
}

// Manifests writes YAML: classes for kubectl apply, and below them parts of operators' resources, which
// are to be put into the reader's own.
func Manifests(l Layout) (string, error) {
	w := &writer{Layout: l}
	w.comment("Written by plumb provision --emit k8s for "+label(l.Spec.Server.Product)+".",
		"Use kubectl apply for the classes. After them come parts of operators' resources, to be put into yours.",
		"Kubernetes cannot set up pools, disks and kernels: do that on each node, for example with plumb provision there.")
	if l.Spec.Filesystem != nil {
		w.hostpath()
	} else if err := w.datasets(); err != nil {
		return "", err
	}
	w.operators()
	return w.String(), nil
}

func label(flavor string) string { return product.OfFlavor(flavor).Label(flavor) }

// comment writes lines as comments.
func (w *writer) comment(lines ...string) {
	for _, l := range lines {
		w.WriteString("# " + strings.Join(strings.Fields(l), " ") + "\n")
	}
}

// line writes a line of YAML. Values are quoted, so that none is read as something else.
func (w *writer) line(indent int, key, value string) {
	fmt.Fprintf(w, "%s%s: %s\n", strings.Repeat(" ", indent), key, strconv.QuoteToASCII(value))
}

// class is the name of the class of a role.
func (w *writer) class(role string) string {
	if f := w.Spec.Filesystem; f != nil {
		role = f.Type // one for all: directories of a filesystem do not differ
	}
	server := w.Spec.Server.Product
	if own := w.Spec.Server.Own(); own != "" {
		server += "-" + own
	}
	return name("plumb-" + server + "-" + role)
}

// name makes a text a name of Kubernetes (RFC 1123). One that is not the text itself ends with a digest of it, so that
// two texts do not share it.
func name(s string) string {
	const longest = 63
	is := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(s))
	if is == s && len(s) <= longest && strings.Trim(s, "-") == s {
		return s
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:8]
	return strings.Trim(is[:min(len(is), longest-len(sum)-1)], "-") + "-" + sum
}

// storageClass begins one. The volume of a database is kept when its claim goes.
func (w *writer) storageClass(class, provisioner string, annotations func()) {
	w.WriteString("---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n")
	w.line(2, "name", class)
	if annotations != nil {
		w.WriteString("  annotations:\n")
		annotations()
	}
	w.line(0, "provisioner", provisioner)
	w.WriteString("reclaimPolicy: Retain\nvolumeBindingMode: WaitForFirstConsumer\n")
}

// hostpath writes the one class for directories of a filesystem.
func (w *writer) hostpath() {
	at, kind := w.At, w.Spec.Filesystem.Type
	w.WriteString("\n")
	w.comment("On each node, before: "+kind+" mounted at "+at+", as plumb provision makes it, aligned to its array and with the mount options that the rules give.",
		"Volumes are directories there. A class cannot contain mkfs and mount options. The size of a claim is not enforced, and cannot be raised.")
	w.storageClass(w.class(""), "openebs.io/local", func() {
		w.line(4, "openebs.io/cas-type", "local")
		w.line(4, "cas.openebs.io/config", "- name: StorageType\n  value: \"hostpath\"\n- name: BasePath\n  value: "+strconv.QuoteToASCII(at)+"\n")
	})
}
