package manifest

import (
	"fmt"
	"strings"
)

// Where the objects of a backup are. Names follow from numbers, never from what a manifest
// says, so that no manifest can name an object of another.

// Prefix is before the names of all backups.
const Prefix = "backups/"

// Name is the object that is the manifest of a backup.
func Name(id string) string { return Prefix + id + "/manifest" }

// Folder is before the names of all objects of a backup.
func Folder(id string) string { return Prefix + id + "/" }

// PartName is the object that is a list of chunks.
func PartName(id string, stream, part int) string {
	return fmt.Sprintf("%s%d/list-%06d", Folder(id), stream, part)
}

// ChunkName is the object that is a chunk. In the order of their names they are in the order of the stream.
func ChunkName(id string, stream int, chunk int64) string {
	return fmt.Sprintf("%s%d/%09d.zst.age", Folder(id), stream, chunk)
}

// OfManifest gives the backup whose manifest an object is; "" when it is none.
func OfManifest(name string) string {
	id, isManifest := strings.CutSuffix(strings.TrimPrefix(name, Prefix), "/manifest")
	if !isManifest || !strings.HasPrefix(name, Prefix) || !IsID(id) {
		return ""
	}
	return id
}
