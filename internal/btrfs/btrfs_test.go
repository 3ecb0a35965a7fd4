package btrfs

import "testing"

const two = `ID 256 gen 7 cgen 7 top level 5 parent_uuid -                                    uuid ba36178d-ee23-0443-983f-42e3d5d64982 path data
ID 259 gen 9 cgen 8 top level 5 parent_uuid ba36178d-ee23-0443-983f-42e3d5d64982 uuid 3b0d3110-deaf-3a40-800d-1d3f2d695762 path a path b
`

func TestParse(t *testing.T) {
	all, err := Parse([]byte(two))
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if want := (Subvolume{ID: 259, Born: 8, UUID: "3b0d3110-deaf-3a40-800d-1d3f2d695762", Parent: "ba36178d-ee23-0443-983f-42e3d5d64982", Path: "a path b"}); all[1] != want {
		t.Errorf("%+v", all[1])
	}
	for _, bad := range []string{two + two, two + "rest of a name\n", "ID x gen 7 cgen 7 top level 5 parent_uuid - uuid u path p\n"} {
		if all, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q gives %+v", bad, all)
		}
	}
	if uuid := ParseUUID([]byte("/\n\tName: \t\t\t<FS_TREE>\n\tUUID: \t\t\tba36\n\tParent UUID: \t\t-\n")); uuid != "ba36" {
		t.Errorf("UUID %q", uuid)
	}
}

func FuzzParsers(f *testing.F) {
	f.Add([]byte(two))
	f.Fuzz(func(t *testing.T, out []byte) {
		all, err := Parse(out)
		if err != nil && all != nil {
			t.Error("an answer beside an error")
		}
		ParseUUID(out)
	})
}
