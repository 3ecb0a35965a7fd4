package kubernetes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"plumb/internal/provision"
	"plumb/internal/provision/spec"
)

func onZFS(product string) Layout {
	log := map[string]string{"mariadb": "binlog", "mysql": "redo", "percona": "redo", "postgres": "wal"}[product]
	return Layout{Spec: spec.Spec{Use: "tank", Server: spec.Server{Product: product}}, Volumes: []provision.Volume{
		{Dataset: "tank/db", Properties: map[string]string{"compression": "lz4"}},
		{Role: "data", Dataset: "tank/db/data", At: "/var/lib/db", Properties: map[string]string{"recordsize": "16384", "logbias": "throughput", "primarycache": "metadata", "compression": "zstd-3", "mountpoint": "/var/lib/db"}},
		{Role: log, Dataset: "tank/db/log", At: "/var/lib/db-log", Properties: map[string]string{"recordsize": "1M", "compression": "zstd-fast-1", "sync": "standard"}},
	}}
}

func onExt4(product string) Layout {
	return Layout{Spec: spec.Spec{Filesystem: &spec.Filesystem{Type: "ext4"}, Server: spec.Server{Product: product, At: "/srv/db"}},
		At: "/srv/my: \"db\"", Volumes: []provision.Volume{{Role: "data", At: "/var/lib/db"}}}
}

func written(t *testing.T, l Layout) string {
	t.Helper()
	text, err := Manifests(l)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// documents reads them as JSON has them.
func documents(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc map[string]any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if doc == nil { // the comments before the first
			continue
		}
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		var plain map[string]any
		if err := json.Unmarshal(raw, &plain); err != nil {
			t.Fatal(err)
		}
		all = append(all, plain)
	}
}

// schemas are those that the makers publish, cut to what is written here: of the rest only the names are left.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*jsonschema.Schema{}
	for kind, one := range all.(map[string]any) {
		c := jsonschema.NewCompiler()
		if err := c.AddResource(kind, one); err != nil {
			t.Fatal(err)
		}
		out[kind] = c.MustCompile(kind)
	}
	return out
}

func TestManifestsAreValid(t *testing.T) {
	known := schemas(t)
	for product, kinds := range map[string]string{"mariadb": "MariaDB", "mysql": "PerconaServerMySQL PerconaXtraDBCluster", "percona": "PerconaServerMySQL PerconaXtraDBCluster", "postgres": "Cluster"} {
		for what, l := range map[string]Layout{"StorageClass StorageClass ": onZFS(product), "StorageClass ": onExt4(product)} {
			text := written(t, l)
			var got []string
			for _, doc := range documents(t, text) {
				kind, _ := doc["kind"].(string)
				got = append(got, kind)
				if known[kind] == nil {
					t.Fatalf("%s: no schema of %q", product, kind)
				}
				if err := known[kind].Validate(doc); err != nil {
					t.Errorf("%s: %v\n%s", product, err, text)
				}
			}
			if want := what + kinds; strings.Join(got, " ") != want {
				t.Errorf("%s: %v, want %s", product, got, want)
			}
		}
	}
}

// TestSchemasFindMistakes: what checks the manifests finds a field of another name.
func TestSchemasFindMistakes(t *testing.T) {
	known := schemas(t)
	for product, wrong := range map[string][][2]string{
		"postgres": {{"storageClass:", "storageClassName:"}, {"walStorage:", "walstorage:"}, {"instances: 3", "instances: x"}, {"cnpg.io/v1", "cnpg.io/v2"}},
		"mariadb":  {{"storageClassName:", "storageClass:"}, {`"100Gi"`, `"much"`}, {"poolname", "pool"}, {`"16k"`, `"1m"`}, {`"zstd-3"`, `"zstd-20"`}, {"parameters:", "parameter:"}},
		"mysql":    {{"volumeSpec", "volumespec"}, {"persistentVolumeClaim", "pvc"}, {"storageClassName:", "storageClass:"}, {"ps.percona.com/v1", "ps.percona.com/v1alpha1"}},
	} {
		text := written(t, onZFS(product))
		for _, w := range wrong {
			found := false
			for _, doc := range documents(t, strings.ReplaceAll(text, w[0], w[1])) {
				found = found || known[doc["kind"].(string)].Validate(doc) != nil
			}
			if !found || !strings.Contains(text, w[0]) {
				t.Errorf("%s: %s in place of %s is not found", product, w[1], w[0])
			}
		}
	}
}

// TestClassSaysWhatItCan: the rest is set on the dataset that volumes come to lie in.
func TestClassSaysWhatItCan(t *testing.T) {
	text := written(t, onZFS("mariadb"))
	docs := documents(t, text)
	data, log := docs[0]["parameters"].(map[string]any), docs[1]["parameters"].(map[string]any)
	if data["recordsize"] != "16k" || data["compression"] != "zstd-3" || data["poolname"] != "tank/db/data" || data["fstype"] != "zfs" || len(data) != 4 {
		t.Errorf("the class for data has %v", data)
	}
	if log["poolname"] != "tank/db/log" || len(log) != 2 {
		t.Errorf("a recordsize of 1M and zstd-fast-1 are more than a class can say, and it says %v", log)
	}
	for _, want := range []string{
		"# On each node, before: zfs create -p -o canmount=off -o mountpoint=none -o compression=zstd-3 -o logbias=throughput -o primarycache=metadata -o recordsize=16384 tank/db/data\n",
		"inherit from it: logbias=throughput, primarycache=metadata.\n",
		"inherit from it: compression=zstd-fast-1, recordsize=1M, sync=standard.\n",
		"The class plumb-mariadb-binlog has no use there.",
		"# If that dataset exists, the command succeeds and changes nothing: set its properties with zfs set.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q:\n%s", want, text)
		}
	}
}

// TestClassHasWhatThePlanGivesAbove: what the rules say of all volumes stands on the dataset above them, which a node does not have.
func TestClassHasWhatThePlanGivesAbove(t *testing.T) {
	l := onZFS("postgres")
	l.Volumes = []provision.Volume{{Dataset: "tank/db", Properties: map[string]string{"compression": "lz4", "atime": "off"}},
		{Role: "data", Dataset: "tank/db/data", At: "/d", Properties: map[string]string{"recordsize": "32768"}},
		{Role: "wal", Dataset: "tank/db/log", At: "/l", Properties: map[string]string{"compression": "zstd"}}}
	text := written(t, l)
	docs := documents(t, text)
	if data, log := docs[0]["parameters"].(map[string]any), docs[1]["parameters"].(map[string]any); data["compression"] != "lz4" || log["compression"] != "zstd" {
		t.Errorf("the classes have %v and %v", data, log)
	}
	for _, want := range []string{"-o atime=off -o compression=lz4 -o recordsize=32768 tank/db/data\n", "-o atime=off -o compression=zstd tank/db/log\n", "inherit from it: atime=off.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing says %q:\n%s", want, text)
		}
	}
}

// TestParametersStay: a cluster refuses an apply that changes them, and a class for directories has none.
func TestParametersStay(t *testing.T) {
	for product, l := range map[string]Layout{"mariadb": onZFS("mariadb"), "postgres": onExt4("postgres")} {
		text := written(t, l)
		_, has := documents(t, text)[0]["parameters"]
		if says := strings.Contains(text, "(kubectl delete storageclass NAME)"); says != has {
			t.Errorf("%s: that parameters cannot be changed is said: %v, has some: %v", product, says, has)
		}
	}
}

// TestWhatStaysIsSaid: of a volume for the WAL, which stays once it is there, and of claims, whose size stays where their class
// does not let them grow.
func TestWhatStaysIsSaid(t *testing.T) {
	zfs, ext4, mariadb := written(t, onZFS("postgres")), written(t, onExt4("postgres")), written(t, onZFS("mariadb"))
	for text, has := range map[string]bool{zfs: true, ext4: false, mariadb: false} {
		wal := documents(t, text)
		_, there := wal[len(wal)-1]["spec"].(map[string]any)["walStorage"]
		if says := strings.Contains(text, "has walStorage once keeps it"); says != has || there != has {
			t.Errorf("walStorage %v, that it stays %v:\n%s", there, says, text)
		}
	}
	for text, grows := range map[string]bool{zfs: true, ext4: false} {
		may, _ := documents(t, text)[0]["allowVolumeExpansion"].(bool)
		if says := strings.Contains(text, "cannot be raised"); may != grows || says == grows {
			t.Errorf("the class lets claims grow %v, that they cannot %v:\n%s", may, says, text)
		}
	}
}

// TestHostpathIsWhereTheFilesystemIs: the provisioner reads its settings as YAML within an annotation.
func TestHostpathIsWhereTheFilesystemIs(t *testing.T) {
	doc := documents(t, written(t, onExt4("postgres")))[0]
	text := doc["metadata"].(map[string]any)["annotations"].(map[string]any)["cas.openebs.io/config"].(string)
	var config []struct{ Name, Value string }
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	if len(config) != 2 || config[0].Value != "hostpath" || config[1].Name != "BasePath" || config[1].Value != `/srv/my: "db"` {
		t.Errorf("the provisioner reads %+v", config)
	}
}

func TestNameIsOneOfKubernetes(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	all := map[string]string{}
	for _, in := range []string{"plumb-mariadb-data", "A_b/Cü", "a_b/Cü", "a-b-c", "-x-", "x", strings.Repeat("a", 80), strings.Repeat("a", 81)} {
		got := name(in)
		if other, shared := all[got]; shared || !valid.MatchString(got) {
			t.Errorf("name(%q) is %q, like that of %q", in, got, other)
		}
		all[got] = in
	}
	if all["plumb-mariadb-data"] != "plumb-mariadb-data" {
		t.Errorf("a name that is one already is %q", name("plumb-mariadb-data"))
	}
}

// TestTwoServersShareNoClass: two servers of one product are two specs, and their classes lie in one cluster.
func TestTwoServersShareNoClass(t *testing.T) {
	for _, lay := range []func(string) Layout{onZFS, onExt4} {
		all := map[string]string{}
		for _, server := range []string{"", "postgres:5432", "postgres:5433", "postgres:/run/a/b", "postgres:/run/a-b"} {
			l := lay("postgres")
			l.Spec.Server.Name = server
			text := written(t, l)
			for _, doc := range documents(t, text) {
				if doc["kind"] != "StorageClass" {
					continue
				}
				class := doc["metadata"].(map[string]any)["name"].(string)
				if other, shared := all[class]; shared {
					t.Errorf("%q and %q share the class %s", other, server, class)
				}
				all[class] = server
			}
		}
	}
}

// A comment ends with its line, whatever a property holds.
func TestCommentsAreOneLine(t *testing.T) {
	l := onZFS("mariadb")
	l.Volumes[1].Properties["comment"] = "x\nkind: Pod"
	for _, doc := range documents(t, written(t, l)) {
		if doc["kind"] == "Pod" {
			t.Error("a property became a document")
		}
	}
}
