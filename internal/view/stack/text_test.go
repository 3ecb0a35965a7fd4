package stack

import (
	"testing"

	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

func TestStackPicture(t *testing.T) {
	viewtest.Golden(t, "stack-zfs.txt", Text(viewtest.ZfsHost(), viewtest.Units(), nil, page.Screen{Width: 100}))
	viewtest.Golden(t, "stack-zfs-narrow.txt", Text(viewtest.ZfsHost(), viewtest.Units(), nil, page.Screen{Width: 64}))
	viewtest.Golden(t, "stack-lvm.txt", Text(viewtest.LvmHost(), viewtest.Units(), nil, page.Screen{Width: 80}))
}

func TestStackDocumentFitsItsSchema(t *testing.T) {
	for _, s := range []*stack.Stack{viewtest.ZfsHost(), {}} {
		viewtest.FitsSchema(t, schema.Of("stack"), Document(s, "test"))
	}
}
