package view

import (
	"plumb/internal/stack"
	"testing"
)

func TestStackPicture(t *testing.T) {
	golden(t, "stack-zfs.txt", Stack(zfsHost(), units(), nil, Screen{Width: 100}))
	golden(t, "stack-zfs-narrow.txt", Stack(zfsHost(), units(), nil, Screen{Width: 64}))
	golden(t, "stack-lvm.txt", Stack(lvmHost(), units(), nil, Screen{Width: 80}))
}

func TestStackDocumentFitsItsSchema(t *testing.T) {
	for _, s := range []*stack.Stack{zfsHost(), {}} {
		fitsSchema(t, Schema("stack"), StackDocument(s, "test"))
	}
}
